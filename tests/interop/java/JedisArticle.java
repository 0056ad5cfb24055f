/*
 * The lock of the article "利用redis实现分布式锁": the value is when it ends, in milliseconds. SETNX takes it; once it
 * has ended GETSET does, for whoever gets back what it had read. The article shows no release: DEL.
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
        // As in the article: the time is not measured but counted in pauses, and there is a last pause for nothing.
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
