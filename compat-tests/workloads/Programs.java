import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Method;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.logging.Level;
import java.util.logging.Logger;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * Real programs: the compiler on a folder of sources, the HTTP server under load, Lucene, which
 * indexes and searches a folder, and Tomcat, which serves one. The last two are on the class path.
 */
final class Programs {
    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "javac":
                int times = arguments.length > 2 ? Integer.parseInt(arguments[2]) : 1;
                for (int i = 0; i < times; i++) {
                    compile(new File(arguments[1]));
                }
                break;
            case "http": serve(); break;
            case "lucene": search(arguments[1]); break;
            case "tomcat": serveFiles(new File(arguments[1])); break;
            default: throw new IllegalArgumentException(arguments[0]);
        }
        System.out.println("done");
    }

    private static void compile(File sources) throws Exception {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        File output = new File("classes");
        output.mkdir();
        try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
            File[] inputs = sources.listFiles((folder, name) -> name.endsWith(".java"));
            Arrays.sort(inputs);
            List<String> options = Arrays.asList("-nowarn", "-proc:none", "-d", output.getPath());
            boolean done = compiler.getTask(null, files, null, options, null,
                    files.getJavaFileObjects(inputs)).call();
            System.out.println("compiled " + done + " " + (output.list().length > inputs.length));
        }
    }

    private static void serve() throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 50);
        ExecutorService workers = Executors.newFixedThreadPool(4);
        server.setExecutor(workers);
        server.createContext("/", exchange -> {
            byte[] body = all(exchange.getRequestBody());
            String answer = exchange.getRequestURI().getPath() + " " + new String(body, StandardCharsets.UTF_8);
            byte[] bytes = answer.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, bytes.length);
            try (OutputStream out = exchange.getResponseBody()) {
                out.write(bytes);
            }
        });
        server.start();
        ExecutorService clients = Executors.newFixedThreadPool(4);
        List<Future<Integer>> results = new ArrayList<>();
        for (int client = 0; client < 4; client++) {
            int number = client;
            results.add(clients.submit(() -> requests(server.getAddress(), number)));
        }
        int right = 0;
        for (Future<Integer> result : results) {
            right += result.get();
        }
        clients.shutdown();
        server.stop(0);
        workers.shutdown();
        System.out.println("answers " + right);
    }

    private static void search(String documents) throws Exception {
        main("org.apache.lucene.demo.IndexFiles", "-index", "index", "-docs", documents);
        for (String query : new String[] {"event", "thread AND object", "int*", "\"class path\"", "nothing~"}) {
            main("org.apache.lucene.demo.SearchFiles", "-index", "index", "-query", query, "-paging", "5");
        }
    }

    private static void main(String name, String... arguments) throws Exception {
        Class.forName(name).getMethod("main", String[].class).invoke(null, (Object) arguments);
    }

    private static void serveFiles(File folder) throws Exception {
        Logger.getLogger("").setLevel(Level.WARNING);
        Object tomcat = Class.forName("org.apache.catalina.startup.Tomcat").getDeclaredConstructor().newInstance();
        call(tomcat, "setBaseDir", new File("tomcat").getAbsolutePath());
        call(tomcat, "setPort", 0);
        Object connector = call(tomcat, "getConnector");
        Object context = call(tomcat, "addContext", "", folder.getAbsolutePath());
        call(tomcat, "addServlet", "", "files", "org.apache.catalina.servlets.DefaultServlet");
        call(context, "addServletMappingDecoded", "/", "files");
        call(tomcat, "start");
        int port = (Integer) call(connector, "getLocalPort");
        String[] names = folder.list((parent, name) -> name.endsWith(".java"));
        Arrays.sort(names);
        ExecutorService clients = Executors.newFixedThreadPool(4);
        List<Future<Long>> results = new ArrayList<>();
        for (int client = 0; client < 4; client++) {
            results.add(clients.submit(() -> {
                long bytes = 0;
                for (String name : names) {
                    bytes += all(new URL("http", "localhost", port, "/" + name).openStream()).length;
                }
                return bytes;
            }));
        }
        long bytes = 0;
        for (Future<Long> result : results) {
            bytes += result.get();
        }
        clients.shutdown();
        call(tomcat, "stop");
        call(tomcat, "destroy");
        System.out.println("served " + bytes);
    }

    /** Calls the public method of this name that takes as many arguments, of these types. */
    private static Object call(Object object, String name, Object... arguments) throws Exception {
        for (Method method : object.getClass().getMethods()) {
            if (method.getName().equals(name) && fit(method.getParameterTypes(), arguments)) {
                return method.invoke(object, arguments);
            }
        }
        throw new NoSuchMethodException(name);
    }

    private static boolean fit(Class<?>[] types, Object[] arguments) {
        boolean fit = types.length == arguments.length;
        for (int i = 0; fit && i < types.length; i++) {
            fit = types[i].isInstance(arguments[i]) || types[i] == int.class && arguments[i] instanceof Integer;
        }
        return fit;
    }

    private static int requests(InetSocketAddress address, int client) throws Exception {
        int right = 0;
        for (int i = 0; i < 50; i++) {
            URL url = new URL("http", address.getAddress().getHostAddress(), address.getPort(), "/" + client + "/" + i);
            HttpURLConnection connection = (HttpURLConnection) url.openConnection();
            connection.setDoOutput(true);
            connection.getOutputStream().write(("request " + i).getBytes(StandardCharsets.UTF_8));
            String answer = new String(all(connection.getInputStream()), StandardCharsets.UTF_8);
            right += answer.equals("/" + client + "/" + i + " request " + i) ? 1 : 0;
        }
        return right;
    }

    private static byte[] all(InputStream in) throws java.io.IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        byte[] buffer = new byte[1024];
        for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
            bytes.write(buffer, 0, n);
        }
        return bytes.toByteArray();
    }
}
