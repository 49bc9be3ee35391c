/* A library that is no agent. Run as: java -XrunNoOnLoad -version */
