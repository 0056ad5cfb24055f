<?php
/*
 * The locks of the articles "Redis实现分布式锁", "Redis的分布式锁 / setnx" and "Lock / watch与锁 / 分布式锁", written
 * in PHP with phpredis.  The algorithms are those of the articles, with their faults; the code is new.
 *
 * Each class has one attempt, and a release. A waiter tries again (party.php).
 */
declare(strict_types=1);

abstract class Lock
{
    /** How often a value was replaced or deleted because it was considered expired. */
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

    /** The reply to a command that is not part of the interface. */
    public function answer(array $words): string
    {
        return "error unknown command $words[0]";
    }

    protected function leaseSeconds(): int
    {
        return intdiv($this->leaseMs + 999, 1000);
    }
}

/** The first one: the value is the time of the acquire, and only DEL ends it. */
class SetnxDel extends Lock
{
    public function try(): bool
    {
        return $this->redis->setnx($this->key, (string) time());
    }
}

/** The second: if DEL deleted nothing, EXPIRE 0 deletes the key. */
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

/** The third: the value is its end, in seconds; a waiter deletes an expired one and starts again. */
class SetnxStampDel extends Lock
{
    public function try(): bool
    {
        if ($this->redis->setnx($this->key, (string) (time() + $this->leaseSeconds()))) {
            return true;
        }
        // A missing value counts as expired.
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

/** The fourth: a waiter replaces an expired value by GETSET, and has the lock if that returns the value it read. */
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

/** The fifth: the server expires it, and a release deletes any value. */
class SetNxEx extends Lock
{
    public function try(): bool
    {
        return $this->redis->set($this->key, '1', ['nx', 'ex' => $this->leaseSeconds()]) === true;
    }
}

/** The sixth, which the article recommends: one script deletes only the token of the holder. */
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

/** From the first article: milliseconds; one more in the acquire, a margin of three in the release. */
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
        // A missing key counts as expired, here and in the reply to GETSET.
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

/** From the third article: a waiter adds a missing expiry; WATCH protects the release. */
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
        // -1: the key exists without an expiry.
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

/** No lock: the witness must notice it. */
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
