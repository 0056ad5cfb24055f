/*
 * The lock of the article "利用redis实现分布式锁": the value is its end, in milliseconds. SETNX acquires it;
 * after its end GETSET does, if it returns the value that was read. The article shows no release: DEL.
 */
import redis.clients.jedis.Jedis;

final class JedisArticle implements Party.Lock {
    private final Jedis jedis;
    private final String key;
    private final int leaseMs;
    private int stolen;

    JedisArticle(String host, int port, String key, int leaseMs) {
        this.jedis = new Jedis(host, port);
        this.key = key;
        this.leaseMs = leaseMs;
    }

    @Override
    public boolean acquire(int waitMs) throws InterruptedException {
        // As in the article: it counts pauses instead of time, and ends with a useless pause.
        for (int left = waitMs; left >= 0; left -= Party.PAUSE_MS) {
            if (tryOnce()) {
                return true;
            }
            Thread.sleep(Party.PAUSE_MS);
        }
        return false;
    }

    private boolean tryOnce() {
        String stamp = String.valueOf(System.currentTimeMillis() + leaseMs + 1);
        if (jedis.setnx(key, stamp) == 1) {
            return true;
        }
        String read = jedis.get(key);
        if (read == null || Long.parseLong(read) >= System.currentTimeMillis()) {
            return false;
        }
        stolen++;
        return read.equals(jedis.getSet(key, stamp));
    }

    @Override
    public String release() {
        return jedis.del(key) == 1 ? "released" : "lost";
    }

    @Override
    public int stolen() {
        return stolen;
    }
}
