/// The statements of a ``WorkLog`` on PostgreSQL. Each call is one transaction, `READ COMMITTED`.
///
/// The order of locks is the same everywhere: `lease`, then `fleet`, then the rest. Where a call is fenced, its first
/// statement locks the line of its lease, so that nobody can take the lease between the check and the commit; if there
/// is no such line, it fails with `22012` (division by zero), which is `.fenced`. So a whole call, `BEGIN` to `COMMIT`,
/// goes in one pipeline without looking at answers, and a member that is stopped holds no lock. A deadlock (`40P01`) is
/// possible only while the incarnation changes: `.unavailable`.
///
/// Time is `clock_timestamp()` alone, never a member's, and never `now()`, which stands still in a transaction.
///
/// Parameters with a plural name are arrays for `unnest`, all of one length. `owner`, `token` and `incarnation` are
/// those of the lease; the client compares the lease's incarnation with that of its connection before it sends
/// anything, and throws `.fenced` if they differ.
package enum FleetStatements {
    // MARK: Incarnation

    /// On every new connection: the cluster and its timeline. A promoted standby has another timeline, a new cluster
    /// another identifier. A dump that was restored into the same cluster has neither; it needs a reset by hand.
    package static let incarnation = """
        SELECT (SELECT system_identifier FROM pg_control_system())::text || '.'
          || left(pg_walfile_name(pg_current_wal_lsn()), 8) AS incarnation
        """
    /// Then, with that as `$1`, if `fleet.incarnation` is another one; all in one transaction. It voids all leases, and
    /// grants none until every tenure is over. Of two connections that do it at once, the second changes nothing.
    package static let begin = [
        "SELECT count(*) FROM (SELECT 1 FROM lease ORDER BY name FOR UPDATE) l",
        """
        WITH f AS (
          UPDATE fleet SET incarnation = $1, quiet_until = clock_timestamp() + lease_time
          WHERE incarnation <> $1 RETURNING 1),
        gone AS (DELETE FROM member WHERE EXISTS (SELECT 1 FROM f))
        UPDATE lease SET owner = NULL WHERE EXISTS (SELECT 1 FROM f)
        """,
    ]

    // MARK: Members and leases

    /// One statement: the member, its leases, who lives, what is free. Parameters: `$1` owner, `$2` whether it works.
    ///
    /// `held` is an array of `name:token`, `free` one of partitions. All parts see the state before the statement, so a
    /// lease is free that had expired then.
    package static let renew = """
        WITH f AS (SELECT lease_time, quiet_until FROM fleet),
        me AS (
          INSERT INTO member (owner, works, until) SELECT $1, $2, clock_timestamp() + lease_time FROM f
          ON CONFLICT (owner) DO UPDATE SET until = EXCLUDED.until, works = EXCLUDED.works),
        gone AS (DELETE FROM member WHERE owner <> $1 AND until <= clock_timestamp()),
        own AS (
          UPDATE lease SET until = clock_timestamp() + (SELECT lease_time FROM f)
          WHERE owner = $1 RETURNING name, token)
        SELECT
          (SELECT coalesce(array_agg(name || ':' || token ORDER BY name), '{}') FROM own) AS held,
          (SELECT count(*) FROM member WHERE owner <> $1 AND works AND until > clock_timestamp())
            + (CASE WHEN $2 THEN 1 ELSE 0 END) AS workers,
          (SELECT coalesce(array_agg(name::int ORDER BY name::int), '{}') FROM lease
            WHERE name <> 'feed' AND owner IS DISTINCT FROM $1 AND (owner IS NULL OR until <= clock_timestamp())
            AND clock_timestamp() >= (SELECT quiet_until FROM f)) AS free
        """

    /// Takes up to `$3` of the partitions `$2::int[]`, the first ones first, for owner `$1`. What somebody else is taking
    /// right now is left out.
    package static let claim = """
        WITH f AS (SELECT lease_time FROM fleet WHERE clock_timestamp() >= quiet_until),
        wanted AS (
          SELECT l.name, l.owner FROM unnest($2::int[]) WITH ORDINALITY w (partition, place)
          JOIN lease l ON l.name = w.partition::text, f
          WHERE l.owner IS NULL OR l.owner = $1 OR l.until <= clock_timestamp()
          ORDER BY w.place LIMIT $3 FOR UPDATE OF l SKIP LOCKED),
        taken AS (
          UPDATE lease l SET owner = $1, token = l.token + 1, until = clock_timestamp() + (SELECT lease_time FROM f)
          FROM wanted w WHERE l.name = w.name
          RETURNING l.name::smallint AS partition, l.token, w.owner IS NOT NULL AS is_takeover),
        counted AS (
          UPDATE partition_position p SET takeovers = p.takeovers + (CASE WHEN t.is_takeover THEN 1 ELSE 0 END)
          FROM taken t WHERE p.partition = t.partition
          RETURNING p.partition, t.token, p.position, p.version, p.takeovers, t.is_takeover)
        SELECT partition, token, position, version, takeovers, is_takeover FROM counted ORDER BY partition
        """
    /// After ``claim``, in the same transaction, if some were takeovers. `$1`: how many.
    package static let countTakeovers = "UPDATE fleet SET takeovers = takeovers + $1"

    /// `$1` partition as text, `$2` owner, `$3` token. No line: `.fenced`.
    package static let refresh = """
        SELECT p.position, p.version, p.takeovers FROM lease l JOIN partition_position p ON p.partition::text = l.name
        WHERE l.name = $1 AND l.owner = $2 AND l.token = $3
        """
    /// `$1` name, `$2` owner, `$3` token.
    package static let release = "UPDATE lease SET owner = NULL WHERE name = $1 AND owner = $2 AND token = $3"
    /// `$1` owner; both.
    package static let leave = [
        "UPDATE lease SET owner = NULL WHERE owner = $1", "DELETE FROM member WHERE owner = $1",
    ]

    // MARK: The leader

    /// `$1` owner. No line: somebody else leads. ``countTakeovers`` as after a claim.
    package static let lead = """
        WITH old AS (
          SELECT l.owner FROM lease l, fleet f WHERE l.name = 'feed' AND clock_timestamp() >= f.quiet_until
          AND (l.owner IS NULL OR l.owner = $1 OR l.until <= clock_timestamp()) FOR UPDATE OF l)
        UPDATE lease l SET owner = $1, token = l.token + 1, until = clock_timestamp() + f.lease_time
        FROM fleet f, old WHERE l.name = 'feed'
        RETURNING l.token, f.seq, f.n, old.owner IS NOT NULL AS is_takeover
        """
    /// Fences a call: `$1` name, `$2` owner, `$3` token. `22012`: `.fenced`. Renewals wait until the call's commit, some
    /// milliseconds.
    package static let fence = """
        SELECT 1 / count(*) FROM (
          SELECT 1 FROM lease WHERE name = $1 AND owner = $2 AND token = $3 FOR UPDATE) l
        """

    /// An append: ``fence``, then these. `$1` sequence, `$2` how many changes, `$3` the place where the log must end.
    /// `22012`: `.fenced`. Gives the new end.
    package static let advance = """
        WITH f AS (UPDATE fleet SET seq = $1, n = n + $2::bigint WHERE n = $3 RETURNING n)
        SELECT max(n) AS n, 1 / count(*) AS fence FROM f
        """
    /// `$1` the place before the first change, `$2` partitions, `$3` sequences, `$4` ids, `$5` revisions, `$6` deleted.
    package static let insertWork = """
        INSERT INTO work (partition, n, seq, id, rev, deleted)
        SELECT w.partition, $1 + w.place, w.seq, w.id, w.rev, w.deleted
        FROM unnest($2::smallint[], $3::text[], $4::bytea[], $5::text[], $6::boolean[])
          WITH ORDINALITY w (partition, seq, id, rev, deleted, place)
        """
    /// `$1` the new end, `$2` sequence.
    package static let mark = """
        INSERT INTO mark (n, seq) VALUES ($1, $2) ON CONFLICT (n) DO UPDATE SET seq = EXCLUDED.seq
        """

    /// One statement. NULL: none yet. Marks that are not needed any more are deleted.
    package static let answered = """
        WITH oldest AS (
          SELECT least(
            (SELECT min(w.n) FROM partition_position p,
              LATERAL (SELECT n FROM work WHERE partition = p.partition ORDER BY n LIMIT 1) w),
            (SELECT min(first_n) FROM parked)) AS n),
        newest AS (SELECT m.n, m.seq FROM mark m, oldest o WHERE o.n IS NULL OR m.n < o.n ORDER BY m.n DESC LIMIT 1),
        pruned AS (DELETE FROM mark USING newest WHERE mark.n < newest.n)
        SELECT seq FROM newest
        """

    // MARK: Workers

    /// `$1` owner, `$2` partitions, `$3` tokens, `$4` the last place that was read of each. Nothing that is fenced is told.
    package static let news = """
        SELECT i.partition,
          EXISTS (SELECT 1 FROM work w WHERE w.partition = i.partition AND w.n > i.n) AS has_changes,
          EXISTS (SELECT 1 FROM parked p WHERE p.partition = i.partition AND p.due <= clock_timestamp()) AS has_due
        FROM unnest($2::smallint[], $3::bigint[], $4::bigint[]) i (partition, token, n)
        JOIN lease l ON l.name = i.partition::text AND l.owner = $1 AND l.token = i.token
        WHERE EXISTS (SELECT 1 FROM work w WHERE w.partition = i.partition AND w.n > i.n)
          OR EXISTS (SELECT 1 FROM parked p WHERE p.partition = i.partition AND p.due <= clock_timestamp())
        """
    /// `$1` partition, `$2` owner, `$3` token, `$4` after this place, `$5` limit. The first line tells whether the lease is
    /// good: none at all is `.fenced`, one with `n` NULL is an empty answer.
    package static let next = """
        SELECT w.n, w.seq, w.id, w.rev, w.deleted, w.attempts, w.is_parked
        FROM (SELECT 1 FROM lease WHERE name = $1::smallint::text AND owner = $2 AND token = $3) l
        LEFT JOIN LATERAL (
          SELECT k.n, k.seq, k.id, k.rev, k.deleted, k.attempts,
            EXISTS (SELECT 1 FROM parked p WHERE p.partition = k.partition AND p.id = k.id) AS is_parked
          FROM work k WHERE k.partition = $1 AND k.n > $4 ORDER BY k.n LIMIT $5) w ON true
        ORDER BY w.n
        """
    /// `$1` partition, `$2` owner, `$3` token, `$4` limit. As ``next``.
    package static let due = """
        SELECT w.n, w.first_n, w.seq, w.id, w.rev, w.deleted, w.attempts, w.parks
        FROM (SELECT 1 FROM lease WHERE name = $1::smallint::text AND owner = $2 AND token = $3) l
        LEFT JOIN LATERAL (
          SELECT * FROM parked p WHERE p.partition = $1 AND p.due <= clock_timestamp()
          ORDER BY p.due, p.first_n LIMIT $4) w ON true
        ORDER BY w.due, w.first_n
        """

    /// A commit: ``fence``, then these in this order, leaving out the empty ones; at the end ``release`` if the lease ends.
    ///
    /// `$1` partition, `$2` the version that is known, `$3` the new position. `22012`: `.fenced`.
    package static let movePosition = """
        WITH p AS (
          UPDATE partition_position SET position = $3, version = version + 1,
            takeovers = CASE WHEN $3 > position THEN 0 ELSE takeovers END
          WHERE partition = $1 AND version = $2 AND position <= $3 RETURNING position, version, takeovers)
        SELECT max(position) AS position, max(version) AS version, max(takeovers) AS takeovers,
          1 / count(*) AS fence FROM p
        """
    /// `$1` partition, `$2` ids.
    package static let unpark = "DELETE FROM parked WHERE partition = $1 AND id = ANY ($2::bytea[])"
    /// `$1` partition, then arrays.
    package static let insertDead = """
        INSERT INTO dead (partition, n, id, seq, rev, deleted, attempts, reason)
        SELECT $1::smallint, d.* FROM unnest($2::bigint[], $3::bytea[], $4::text[], $5::text[], $6::boolean[],
          $7::smallint[], $8::text[]) d (n, id, seq, rev, deleted, attempts, reason)
        ON CONFLICT (n) DO UPDATE SET id = EXCLUDED.id, seq = EXCLUDED.seq, rev = EXCLUDED.rev,
          deleted = EXCLUDED.deleted, attempts = EXCLUDED.attempts, reason = EXCLUDED.reason, at = EXCLUDED.at
        """
    /// `$1` partition, then arrays; delays in milliseconds.
    package static let park = """
        INSERT INTO parked (partition, id, first_n, n, seq, rev, deleted, attempts, parks, due, reason)
        SELECT $1::smallint, p.id, p.first_n, p.n, p.seq, p.rev, p.deleted, p.attempts, p.parks,
          clock_timestamp() + p.delay * interval '1 millisecond', p.reason
        FROM unnest($2::bytea[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::boolean[], $8::smallint[],
          $9::int[], $10::bigint[], $11::text[])
          p (id, first_n, n, seq, rev, deleted, attempts, parks, delay, reason)
        ON CONFLICT (partition, id) DO UPDATE SET first_n = EXCLUDED.first_n, n = EXCLUDED.n, seq = EXCLUDED.seq,
          rev = EXCLUDED.rev, deleted = EXCLUDED.deleted, attempts = EXCLUDED.attempts, parks = EXCLUDED.parks,
          due = EXCLUDED.due, reason = EXCLUDED.reason
        """
    /// `$1` partition, then arrays: of each document only the newest change, or the statement fails; `first_n` is the
    /// oldest of them.
    package static let join = """
        INSERT INTO parked (partition, id, first_n, n, seq, rev, deleted, attempts, parks, due, reason)
        SELECT $1::smallint, j.id, j.first_n, j.n, j.seq, j.rev, j.deleted, j.attempts, 1, clock_timestamp(), 'joined'
        FROM unnest($2::bytea[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::boolean[], $8::smallint[])
          j (id, first_n, n, seq, rev, deleted, attempts)
        ON CONFLICT (partition, id) DO UPDATE SET n = EXCLUDED.n, seq = EXCLUDED.seq, rev = EXCLUDED.rev,
          deleted = EXCLUDED.deleted WHERE parked.n < EXCLUDED.n
        """
    /// `$1` partition, `$2` places, `$3` numbers of the tries.
    package static let attemptWork = """
        UPDATE work w SET attempts = a.attempts FROM unnest($2::bigint[], $3::smallint[]) a (n, attempts)
        WHERE w.partition = $1 AND w.n = a.n
        """
    /// `$1` partition, `$2` ids, `$3` numbers of the tries.
    package static let attemptParked = """
        UPDATE parked p SET attempts = a.attempts FROM unnest($2::bytea[], $3::smallint[]) a (id, attempts)
        WHERE p.partition = $1 AND p.id = a.id
        """
    /// `$1` partition, `$2` the new position.
    package static let deleteWork = "DELETE FROM work WHERE partition = $1 AND n <= $2"

    // MARK: Facts

    package static let backlog = """
        SELECT p.partition, CASE WHEN l.until > clock_timestamp() THEN l.owner END AS owner, p.position,
          coalesce(w.entries, 0) AS entries,
          (extract(epoch FROM clock_timestamp() - w.oldest) * 1000)::bigint AS oldest_ms, coalesce(k.parked, 0) AS parked
        FROM partition_position p JOIN lease l ON l.name = p.partition::text
        LEFT JOIN (SELECT partition, count(*) AS entries, min(at) AS oldest FROM work GROUP BY partition) w
          ON w.partition = p.partition
        LEFT JOIN (SELECT partition, count(*) AS parked FROM parked GROUP BY partition) k ON k.partition = p.partition
        ORDER BY p.partition
        """
    package static let facts = """
        SELECT (SELECT CASE WHEN until > clock_timestamp() THEN owner END FROM lease WHERE name = 'feed') AS leader,
          (SELECT count(*) FROM dead) AS dead, (SELECT takeovers FROM fleet) AS takeovers
        """
}
