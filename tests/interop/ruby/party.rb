#!/usr/bin/env ruby
# The party of Ruby: the interface of arena.py, with two locks on the redis gem.
#
#     token          SET NX PX with a token, and a script that deletes only that token
#     redis-mutex    as the gem of this name, at RedisMutex:KEY: the time of the end as a float of seconds, acquired with SETNX
#                    or, after its end, with GETSET; a release deletes it if the value is still its own

require 'json'
require 'redis'
require 'securerandom'

PATIENCE_MS = 60_000
GIVE_UP_MAX = 3
REST_S = Integer(ENV.fetch('REST_MS')) / 1000.0
PAUSE_S = Integer(ENV.fetch('PAUSE_MS')) / 1000.0

class Token
  RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"

  attr_reader :stolen

  def initialize(redis, key, lease_ms)
    @redis = redis
    @key = key
    @lease_ms = lease_ms
    @stolen = 0
  end

  def try
    @token = SecureRandom.uuid
    @redis.set(@key, @token, nx: true, px: @lease_ms)
  end

  def release
    @redis.eval(RELEASE, keys: [@key], argv: [@token]) == 1 ? 'released' : 'lost'
  end
end

class RedisMutex
  attr_reader :stolen

  def initialize(redis, key, lease_ms)
    @redis = redis
    @key = "RedisMutex:#{key}"
    @lease_s = lease_ms / 1000.0
    @stolen = 0
  end

  def try
    now = Time.now.to_f
    @ends = now + @lease_s
    # Released between the two commands: start again.
    until @redis.setnx(@key, @ends.to_s)
      found = @redis.get(@key)
      next if found.nil?
      return false if found.to_f > now

      @stolen += 1
      return @redis.getset(@key, @ends.to_s).to_f <= now
    end
    true
  end

  def release
    return 'lost' unless @redis.get(@key) == @ends.to_s

    @redis.del(@key) == 1 ? 'released' : 'lost'
  end
end

LOCKS = { 'token' => Token, 'redis-mutex' => RedisMutex }.freeze

class Party
  def initialize(algorithm, host, port, key, lease_ms, witness, who)
    @lock = LOCKS.fetch(algorithm).new(Redis.new(host: host, port: port.to_i), key, lease_ms.to_i)
    @witness = File.open(witness, 'a')
    @witness.sync = true
    @who = who
  end

  def acquire(wait_ms)
    finish = clock + wait_ms / 1000.0
    until @lock.try
      return 'busy' if clock >= finish

      sleep PAUSE_S
    end
    'held'
  end

  def clock
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  # True if no other party was inside.
  def work
    alone = @witness.flock(File::LOCK_EX | File::LOCK_NB) == 0
    @witness.syswrite("in #{@who}\n")
    sleep rand * 0.004
    @witness.syswrite("out #{@who}\n")
    @witness.flock(File::LOCK_UN) if alone
    alone
  end

  def contend(count)
    tally = { who: @who, acquired: 0, overlaps: 0, lost: 0, gave_up: 0, errors: 0, stolen: 0, note: '' }
    while tally[:acquired] < count && tally[:gave_up] + tally[:errors] < GIVE_UP_MAX
      begin
        if acquire(PATIENCE_MS) == 'held'
          tally[:acquired] += 1
          tally[:overlaps] += 1 unless work
          tally[:lost] += 1 if @lock.release == 'lost'
        else
          tally[:gave_up] += 1
        end
      rescue StandardError => e
        tally[:errors] += 1
        tally[:note] = e.message if tally[:note].empty?
      end
      sleep rand * REST_S
    end
    tally.merge(stolen: @lock.stolen)
  end

  def execute(line)
    word, number = line.split
    case word
    when 'acquire' then acquire(number.to_i)
    when 'release' then @lock.release
    when 'contend' then JSON.generate(contend(number.to_i))
    else 'error unknown command'
    end
  rescue StandardError => e
    "error #{e.message}"
  end
end

$stdout.sync = true
party = Party.new(*ARGV)
puts 'ready'
$stdin.each_line { |line| puts party.execute(line) }
