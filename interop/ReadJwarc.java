import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Optional;
import org.netpreserve.jwarc.HttpResponse;
import org.netpreserve.jwarc.MessageHeaders;
import org.netpreserve.jwarc.WarcDigest;
import org.netpreserve.jwarc.WarcReader;
import org.netpreserve.jwarc.WarcRecord;
import org.netpreserve.jwarc.WarcResponse;
import org.netpreserve.jwarc.WarcRevisit;

/** Reads WARC files with jwarc and prints what each record says of itself, as JSON lines. */
public class ReadJwarc {
    public static void main(String[] args) throws Exception {
        for (String arg : args) {
            read(Path.of(arg));
        }
    }

    private static void read(Path path) throws Exception {
        // Parsing the HTTP head of a record reads beyond it, so a second reader does that, in step.
        try (WarcReader reader = new WarcReader(path); WarcReader parser = new WarcReader(path)) {
            reader.calculateBlockDigest();
            reader.onWarning(text -> {
                throw new IllegalStateException(path + ": " + text);
            });
            Optional<WarcRecord> next = reader.next();
            while (next.isPresent()) {
                WarcRecord record = next.get();
                long offset = reader.position();
                StringBuilder line = describe(record, parser.next().orElseThrow());
                Optional<WarcDigest> calculated = record.calculatedBlockDigest();
                boolean same = record.blockDigest().isEmpty() || calculated.isPresent() && calculated.get().equals(record.blockDigest().get());
                next = reader.next();
                put(line, "block_verified", same ? "yes" : "no");
                put(line, "file", path.getFileName().toString());
                line.append(",\"offset\":").append(offset).append(",\"length\":").append(reader.position() - offset).append("}");
                System.out.println(line);
            }
        }
    }

    private static StringBuilder describe(WarcRecord record, WarcRecord parsed) throws Exception {
        MessageHeaders h = record.headers();
        StringBuilder line = new StringBuilder("{\"v\":1");
        put(line, "type", record.type());
        put(line, "id", bare(h.first("WARC-Record-ID")));
        put(line, "uri", h.first("WARC-Target-URI").orElse(null));
        put(line, "date", h.first("WARC-Date").orElse(null));
        put(line, "ip", h.first("WARC-IP-Address").orElse(null));
        put(line, "payload", hex(h.first("WARC-Payload-Digest")));
        put(line, "block", hex(h.first("WARC-Block-Digest")));
        put(line, "truncated", h.first("WARC-Truncated").orElse(null));
        put(line, "concurrent", bare(h.first("WARC-Concurrent-To")));
        put(line, "refers", bare(h.first("WARC-Refers-To")));
        put(line, "refers_uri", h.first("WARC-Refers-To-Target-URI").orElse(null));
        put(line, "refers_date", h.first("WARC-Refers-To-Date").orElse(null));
        HttpResponse http = null;
        if (parsed instanceof WarcResponse) {
            http = ((WarcResponse) parsed).http();
        } else if (parsed instanceof WarcRevisit) {
            http = ((WarcRevisit) parsed).http();
        }
        byte[] block = record.body().stream().readAllBytes();
        if (http != null) {
            put(line, "status", Integer.toString(http.status()));
        }
        if (record instanceof WarcResponse) {
            put(line, "verified", verify(h, http, block));
        }
        return line;
    }

    /**
     * Compares the payload with its digest. Most tools take it to be what follows the head as it was received; jwarc
     * itself takes the transfer coding off first, so chunked responses are told apart.
     */
    private static String verify(MessageHeaders h, HttpResponse http, byte[] block) throws Exception {
        Optional<String> given = h.first("WARC-Payload-Digest");
        if (given.isEmpty()) {
            return "none";
        }
        WarcDigest want = new WarcDigest(given.get());
        MessageDigest received = want.getDigester();
        int head = endOfHead(block);
        received.update(block, head, block.length - head);
        if (!new WarcDigest(received).equals(want)) {
            return "no";
        }
        return http.headers().first("Transfer-Encoding").isPresent() ? "as received" : "yes";
    }

    private static int endOfHead(byte[] block) {
        for (int i = 0; i < block.length; i++) {
            if (block[i] != '\n') {
                continue;
            }
            if (i + 1 < block.length && block[i + 1] == '\n') {
                return i + 2;
            }
            if (i + 2 < block.length && block[i + 1] == '\r' && block[i + 2] == '\n') {
                return i + 3;
            }
        }
        return block.length;
    }

    private static String bare(Optional<String> uri) {
        return uri.map(s -> s.replaceAll("^<|>$", "")).orElse(null);
    }

    private static String hex(Optional<String> digest) {
        return digest.map(s -> new WarcDigest(s)).map(d -> d.algorithm() + ":" + d.hex()).orElse(null);
    }

    private static void put(StringBuilder line, String name, String value) {
        if (value == null) {
            return;
        }
        line.append(",\"").append(name).append("\":\"");
        for (char c : value.toCharArray()) {
            if (c == '"' || c == '\\') {
                line.append('\\').append(c);
            } else if (c < ' ' || c > '~') {
                line.append(String.format("\\u%04x", (int) c));
            } else {
                line.append(c);
            }
        }
        line.append('"');
    }
}
