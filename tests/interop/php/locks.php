<?php
/*
 * The locks of the articles "Redis实现分布式锁", "Redis的分布式锁 / setnx" and "Lock / watch与锁 / 分布式锁", as what
 * they describe is written in PHP with phpredis.  The algorithms are theirs, faults included; the words are ours.
 *
 * Each class tries once, and gives back. Whoever wants to wait tries again (party.php).
 */
declare(strict_types=1);

abstract class Lock
{
    /** How often a value was taken over, or removed, because it was believed to be expired. */
    public int $stolen = 0;

    public function __construct(protected Redis $redis, protected string $key, protected int $leaseMs)
    {
    }

    abstract public function try(): bool;

    /** released, lost, or left */
    public function release(): string
    {
        return $this->redis->del($this->key) === 1 ? 'released' : 'lost';
    }

    /** To a line that is none of the contract's. */
    public function answer(array $words): string
    {
        return "error what is $words[0]";
    }

    protected function leaseSeconds(): int
    {
        return intdiv($this->leaseMs + 999, 1000);
    }
}

/** The first way: the value is the time at which it was taken, and nothing ends it but DEL. */
class SetnxDel extends Lock
{
    public function try(): bool
    {
        return $this->redis->setnx($this->key, (string) time());
    }
}

/** The second: when DEL removed nothing, the key is told to expire now. */
class SetnxDelExpire extends SetnxDel
{
    public function release(): string
    {
        if ($this->redis->del($this->key) === 1) {
            return 'released';
        }
        return $this->redis->expire($this->key, 0) ? 'released' : 'lost';
    }
}

/** The third: the value is when it ends, in seconds; whoever finds it ended deletes it and starts again. */
class SetnxStampDel extends Lock
{
    public function try(): bool
    {
        if ($this->redis->setnx($this->key, (string) (time() + $this->leaseSeconds()))) {
            return true;
        }
        // No value at all counts as ended.
        if ((int) $this->redis->get($this->key) > time()) {
            return false;
        }
        if ($this->redis->del($this->key) === 0) {
            return false;
        }
        $this->stolen++;
        return $this->redis->setnx($this->key, (string) (time() + $this->leaseSeconds()));
    }
}

/** The fourth: whoever finds it ended swaps the value, and has won if it got back what it had read. */
class SetnxGetset extends Lock
{
    public function try(): bool
    {
        if ($this->redis->setnx($this->key, (string) (time() + $this->leaseSeconds()))) {
            return true;
        }
        $read = $this->redis->get($this->key);
        if ((int) $read > time()) {
            return false;
        }
        $swapped = $this->redis->getSet($this->key, (string) (time() + $this->leaseSeconds()));
        $this->stolen++;
        return $swapped === $read;
    }
}

/** The fifth: the server ends it, and whoever releases deletes what is there. */
class SetNxEx extends Lock
{
    public function try(): bool
    {
        return $this->redis->set($this->key, '1', ['nx', 'ex' => $this->leaseSeconds()]) === true;
    }
}

/** The sixth, which the article recommends: only the holder's own password is deleted, in one script. */
class Token extends Lock
{
    private const RELEASE = <<<'LUA'
        if redis.call('get', KEYS[1]) == ARGV[1] then
            return redis.call('del', KEYS[1])
        end
        return -1
        LUA;
    private string $password = '';

    public function try(): bool
    {
        $this->password = bin2hex(random_bytes(16));
        return $this->redis->set($this->key, $this->password, ['nx', 'ex' => $this->leaseSeconds()]) === true;
    }

    public function release(): string
    {
        $answer = $this->redis->eval(self::RELEASE, [$this->key, $this->password], 1);
        if ($answer === false) {
            throw new RuntimeException((string) $this->redis->getLastError());
        }
        return $answer === 1 ? 'released' : 'lost';
    }
}

/** Of the first article: milliseconds, a millisecond on top when taking, three to spare when giving back. */
class PidLock extends Lock
{
    private const TAKE_BUFFER_MS = 1;
    private const GIVE_BUFFER_MS = 3;

    public function __construct(Redis $redis, string $key, int $leaseMs)
    {
        parent::__construct($redis, "lock_$key", $leaseMs);
    }

    public function try(): bool
    {
        $now = self::nowMs();
        $stamp = (string) ($now + $this->leaseMs + self::TAKE_BUFFER_MS);
        if ($this->redis->setnx($this->key, $stamp)) {
            return true;
        }
        // A key that is gone counts as ended, here and in what comes back.
        if ($now <= (int) $this->redis->get($this->key)) {
            return false;
        }
        $this->stolen++;
        return $now > (int) $this->redis->getSet($this->key, $stamp);
    }

    public function release(): string
    {
        $stamp = $this->redis->get($this->key);
        if ($stamp === false) {
            return 'lost';
        }
        if ((int) $stamp - self::nowMs() <= self::GIVE_BUFFER_MS) {
            return 'left';
        }
        return $this->redis->del($this->key) === 1 ? 'released' : 'lost';
    }

    private static function nowMs(): int
    {
        return (int) (microtime(true) * 1000);
    }
}

/** Of the third article: who fails to take it mends a missing expiry; WATCH guards the release. */
class ExpireWatch extends Lock
{
    private string $uuid = '';

    public function try(): bool
    {
        $this->uuid = self::newUuid();
        if ($this->redis->setnx($this->key, $this->uuid)) {
            $this->redis->expire($this->key, $this->leaseSeconds());
            return true;
        }
        // -1: it is there, and nothing would ever end it.
        if ($this->redis->ttl($this->key) === -1) {
            $this->redis->expire($this->key, $this->leaseSeconds());
        }
        return false;
    }

    /** RFC 4122, version 4. */
    private static function newUuid(): string
    {
        $bytes = random_bytes(16);
        $bytes[6] = chr(0x40 | (ord($bytes[6]) & 0x0f));
        $bytes[8] = chr(0x80 | (ord($bytes[8]) & 0x3f));
        return vsprintf('%s%s-%s-%s-%s-%s%s%s', str_split(bin2hex($bytes), 4));
    }

    public function release(): string
    {
        $this->redis->watch($this->key);
        if ($this->redis->get($this->key) !== $this->uuid) {
            $this->redis->unwatch();
            return 'lost';
        }
        $this->redis->multi();
        $this->redis->del($this->key);
        $answers = $this->redis->exec();
        return $answers !== false && $answers[0] === 1 ? 'released' : 'lost';
    }
}

/** No lock at all: what the witness must notice. */
class Nothing extends Lock
{
    public function try(): bool
    {
        return true;
    }

    public function release(): string
    {
        return 'released';
    }
}

const LOCKS = [
    'nothing' => Nothing::class,
    'setnx-del' => SetnxDel::class,
    'setnx-del-expire' => SetnxDelExpire::class,
    'setnx-stamp-del' => SetnxStampDel::class,
    'setnx-getset' => SetnxGetset::class,
    'set-nx-ex' => SetNxEx::class,
    'token' => Token::class,
    'pidlock' => PidLock::class,
    'expire-watch' => ExpireWatch::class,
];
