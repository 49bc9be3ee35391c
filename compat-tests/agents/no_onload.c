/*
 * no_onload.c - a library that is no agent.
 */
int answer(void);

int answer(void)
{
    return 42;
}
