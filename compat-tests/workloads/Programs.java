import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.InputStream;
import java.io.OutputStream;
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
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/** Real programs: the compiler on a folder of sources, and the HTTP server under load. */
final class Programs {
    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("javac")) {
            compile(new File(arguments[1]));
        } else {
            serve();
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
