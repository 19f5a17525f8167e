internal import Fleet

/// The tables of a log, and the effects of each call on them. Time is the engine's.
struct MemoryLog: Sendable {
    struct Grant {
        /// Nil: not owned.
        var owner: String?
        var token: Int64 = 0
        var until = Duration.zero
    }

    struct Work {
        var change: LoggedChange
        var at: Duration
    }

    struct Parked {
        var change: LoggedChange
        var due: Duration
    }

    struct Part {
        /// In order of position.
        var work: [Work] = []
        var parked: [DocumentKey: Parked] = [:]
        var position: Int64 = 0
        var version: Int64 = 0
        var takeovers = 0
    }

    let leaseTime: Duration
    var incarnation = "1"
    /// No leases are granted before this time.
    var quietUntil = Duration.zero
    var sequence: String?
    var n: Int64 = 0
    var feed = Grant()
    /// Leases by partition.
    var leases: [Grant]
    var parts: [Part]
    /// The end of each member's membership, and whether it works.
    var members: [String: (until: Duration, works: Bool)] = [:]
    /// The number of each member's membership. It ends when another member takes one of its leases.
    var memberships: [String: Int64] = [:]
    private var lastMembership: Int64 = 0
    var marks: [(n: Int64, sequence: String)] = []
    var dead: [Int64: DeadChange] = [:]
    var takeovers = 0

    init(partitions: Int, leaseTime: Duration) {
        self.leaseTime = leaseTime
        leases = Array(repeating: Grant(), count: partitions)
        parts = Array(repeating: Part(), count: partitions)
    }

    /// Voids all leases, and grants none until every tenure is over.
    mutating func begin(incarnation: String, quietUntil: Duration) {
        self.incarnation = incarnation
        self.quietUntil = quietUntil
        feed.owner = nil
        for number in leases.indices { leases[number].owner = nil }
        (members, memberships) = ([:], [:])
    }

    /// No later membership has a number that one of this log had.
    mutating func raiseMembership(to other: MemoryLog) {
        lastMembership = max(lastMembership, other.lastMembership)
    }

    func claim(_ partition: Int) -> Claim {
        let part = parts[partition]
        let lease = Lease(name: .partition(partition), token: leases[partition].token, incarnation: incarnation)
        return Claim(
            lease: lease, partition: partition, position: part.position, version: part.version,
            takeovers: part.takeovers)
    }
}

// MARK: - Leases

extension MemoryLog {
    /// - Returns: The number of the new membership.
    mutating func join(_ owner: String, works: Bool, _ now: Duration) -> Int64 {
        members[owner] = (now + leaseTime, works)
        return beginMembership(owner)
    }

    private mutating func beginMembership(_ owner: String) -> Int64 {
        lastMembership += 1
        memberships[owner] = lastMembership
        return lastMembership
    }

    /// Ends the memberships of others that lost a lease, or whose leases have expired.
    private mutating func endMemberships(except owner: String, lost: [String], _ now: Duration) {
        memberships = memberships.filter { other, _ in
            other == owner || !lost.contains(other) && members[other].map { $0.until >= now } ?? false
        }
    }

    mutating func renew(_ owner: String, works: Bool, _ now: Duration) -> (renewal: Renewal, membership: Int64) {
        members = members.filter { $0.value.until > now }
        members[owner] = (now + leaseTime, works)
        var held: [Lease] = []
        var free: [Int] = []
        if feed.owner == owner {
            feed.until = now + leaseTime
            held.append(Lease(name: .feed, token: feed.token, incarnation: incarnation))
        }
        for number in leases.indices {
            if leases[number].owner == owner {
                leases[number].until = now + leaseTime
                held.append(claim(number).lease)
            } else if now >= quietUntil, isFree(leases[number], now) {
                free.append(number)
            }
        }
        let renewal = Renewal(leases: held, workers: members.values.count { $0.works }, free: free)
        return (renewal: renewal, membership: memberships[owner] ?? beginMembership(owner))
    }

    private func isMember(_ owner: String, _ now: Duration) -> Bool { members[owner].map { $0.until > now } ?? false }

    private func isFree(_ grant: Grant, _ now: Duration) -> Bool { grant.owner == nil || grant.until <= now }

    mutating func claim(_ wanted: [Int], atMost limit: Int, _ owner: String, _ now: Duration) -> [Claim] {
        guard now >= quietUntil else { return [] }
        var claims: [Claim] = []
        var lost: [String] = []
        for number in wanted where claims.count < limit && leases.indices.contains(number) {
            let grant = leases[number]
            guard grant.owner == owner || isFree(grant, now) else { continue }
            if let former = grant.owner {
                // A live member was only cut off.
                if former != owner, !isMember(former, now) { parts[number].takeovers += 1 }
                takeovers += 1
                lost.append(former)
            }
            leases[number] = Grant(owner: owner, token: grant.token + 1, until: now + leaseTime)
            claims.append(claim(number))
        }
        endMemberships(except: owner, lost: lost, now)
        return claims
    }

    mutating func lead(_ owner: String, _ now: Duration) -> Term? {
        let isTaken = now >= quietUntil && (feed.owner == owner || isFree(feed, now))
        endMemberships(except: owner, lost: isTaken ? [feed.owner].compactMap(\.self) : [], now)
        guard isTaken else { return nil }
        if feed.owner != nil { takeovers += 1 }
        feed = Grant(owner: owner, token: feed.token + 1, until: now + leaseTime)
        return Term(
            lease: Lease(name: .feed, token: feed.token, incarnation: incarnation), sequence: sequence, n: n)
    }

    mutating func release(_ lease: Lease, _ owner: String) {
        guard lease.incarnation == incarnation else { return }
        switch lease.name {
        case .feed: if feed.owner == owner, feed.token == lease.token { feed.owner = nil }
        case .partition(let number):
            if leases[number].owner == owner, leases[number].token == lease.token { leases[number].owner = nil }
        }
    }

    mutating func leave(_ owner: String) {
        (members[owner], memberships[owner]) = (nil, nil)
        if feed.owner == owner { feed.owner = nil }
        for number in leases.indices where leases[number].owner == owner { leases[number].owner = nil }
    }

    private func check(_ lease: Lease, _ grant: Grant, _ owner: String) throws(WorkLogError) {
        guard lease.incarnation == incarnation else { throw .fenced("the engine lost commits or is another one") }
        guard grant.owner == owner, grant.token == lease.token else { throw .fenced("the lease is void") }
    }

    func check(_ claim: Claim, _ owner: String) throws(WorkLogError) {
        try check(claim.lease, leases[claim.partition], owner)
    }
}

// MARK: - The leader

extension MemoryLog {
    mutating func append(
        _ entries: [FeedEntry], upTo sequence: String?, _ term: Term, _ owner: String, _ now: Duration
    ) throws(WorkLogError) -> Term {
        try check(term.lease, feed, owner)
        guard term.n == n else { throw .fenced("the log does not end there") }
        for entry in entries {
            n += 1
            let number = Partitioning.partition(of: entry.id, among: parts.count)
            parts[number].work.append(Work(change: LoggedChange(n: n, entry: entry), at: now))
        }
        self.sequence = sequence ?? self.sequence
        if let sequence = self.sequence {
            if marks.last?.n == n { marks.removeLast() }
            marks.append((n, sequence))
        }
        return Term(lease: term.lease, sequence: self.sequence, n: n)
    }

    func hasPassed(_ n: Int64) -> Bool {
        parts.allSatisfy { part in
            part.work.first.map { $0.change.n > n } ?? true
                && part.parked.values.allSatisfy { $0.change.entry.kind != .uncounted || $0.change.firstPosition > n }
        }
    }

    mutating func answered() -> AnsweredPosition? {
        var oldest = Int64.max
        for part in parts {
            if let first = part.work.first { oldest = min(oldest, first.change.n) }
            for parked in part.parked.values { oldest = min(oldest, parked.change.firstPosition) }
        }
        guard let mark = marks.lastIndex(where: { $0.n < oldest }) else { return nil }
        marks.removeFirst(mark)
        return AnsweredPosition(n: marks[0].n, sequence: marks[0].sequence)
    }
}

// MARK: - Workers

extension MemoryLog {
    func pendingWork(_ readPositions: [ReadPosition], _ owner: String, _ now: Duration) -> [PendingWork] {
        readPositions.compactMap { readPosition in
            let claim = readPosition.claim
            guard (try? check(claim, owner)) != nil else { return nil }
            let part = parts[claim.partition]
            let hasChanges = (part.work.last?.change.n ?? 0) > readPosition.readUpTo
            let hasDue = part.parked.values.contains { $0.due <= now }
            guard hasChanges || hasDue else { return nil }
            return PendingWork(partition: claim.partition, hasChanges: hasChanges, hasDue: hasDue)
        }
    }

    func next(
        _ claim: Claim, after n: Int64, limit: Int, _ owner: String, _ now: Duration
    ) throws(WorkLogError) -> [LoggedChange] {
        try check(claim, owner)
        let part = parts[claim.partition]
        let start = part.work.firstIndex { $0.change.n > n } ?? part.work.endIndex
        return part.work[start...].prefix(limit).map { work in
            var change = counting(work.change, owner, now)
            change.isParked = part.parked[change.id] != nil
            return change
        }
    }

    func due(_ claim: Claim, limit: Int, _ owner: String, _ now: Duration) throws(WorkLogError) -> [LoggedChange] {
        try check(claim, owner)
        return parts[claim.partition].parked.values.filter { $0.due <= now }
            .sorted { ($0.due, $0.change.firstPosition) < ($1.due, $1.change.firstPosition) }
            .prefix(limit).map { counting($0.change, owner, now) }
    }

    /// Excludes the attempts of live members.
    private func counting(_ change: LoggedChange, _ owner: String, _ now: Duration) -> LoggedChange {
        var change = change
        change.isolatedAttempts = change.isolatedAttempts.without(
            members.filter { $0.value.until > now }.map(\.key) + [owner])
        return change
    }

    /// - Returns: The new claim, and the deleted changes.
    mutating func commit(
        _ claim: Claim, _ outcome: PartitionOutcome, _ owner: String, _ now: Duration
    ) throws(WorkLogError) -> (Claim, [LoggedChange]) {
        try check(claim, owner)
        let number = claim.partition
        guard parts[number].version == claim.version, outcome.position >= parts[number].position else {
            throw .fenced("another commit came first")
        }
        for id in outcome.unparked { parts[number].parked[id] = nil }
        for dead in outcome.dead { self.dead[dead.change.n] = dead }
        for parking in outcome.parked {
            parts[number].parked[parking.change.id] = Parked(change: parking.change, due: now + parking.delay)
        }
        for change in outcome.joined { parts[number].join(change, now) }
        for attempt in outcome.attempted { parts[number].note(attempt, owner) }
        let kept = parts[number].work.firstIndex { $0.change.n > outcome.position } ?? parts[number].work.endIndex
        let deleted = parts[number].work[..<kept].map { work in
            var change = work.change
            change.isParked = (parts[number].parked[change.id]?.change.n ?? 0) >= change.n
            return change
        }
        parts[number].work.removeFirst(kept)
        if outcome.position > parts[number].position { parts[number].takeovers = 0 }
        parts[number].position = outcome.position
        parts[number].version += 1
        if outcome.releases { leases[number].owner = nil }
        return (self.claim(number), deleted)
    }

    func backlog(fencedCommits: Int, _ now: Duration) -> Backlog {
        let parts = parts.indices.map { number in
            let part = self.parts[number]
            return Backlog.Part(
                partition: number, owner: leases[number].until > now ? leases[number].owner : nil,
                position: part.position, entries: part.work.count, oldestAge: part.work.first.map { now - $0.at },
                parked: part.parked.count)
        }
        return Backlog(
            parts: parts, leader: feed.until > now ? feed.owner : nil, dead: dead.count, takeovers: takeovers,
            fencedCommits: fencedCommits)
    }
}

extension MemoryLog.Part {
    mutating func join(_ change: LoggedChange, _ now: Duration) {
        guard var there = parked[change.id] else {
            var change = change
            (change.isParked, change.parks) = (false, max(change.parks, 1))
            parked[change.id] = MemoryLog.Parked(change: change, due: now)
            return
        }
        guard there.change.n < change.n else { return }
        there.change.n = change.n
        there.change.entry = change.entry
        parked[change.id] = there
    }

    mutating func note(_ attempt: Attempt, _ owner: String) {
        let isolatedAttempts = attempt.isolatedAttempts(of: owner)
        if attempt.isParked {
            parked[attempt.id]?.change.isolatedAttempts = isolatedAttempts
        } else if let index = work.firstIndex(where: { $0.change.n == attempt.n }) {
            work[index].change.isolatedAttempts = isolatedAttempts
        }
    }
}
