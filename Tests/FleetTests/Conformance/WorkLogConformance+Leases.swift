import Fleet
import Testing

extension WorkLogConformance {
    static let leases = [
        WorkLogConformance("one member has a lease until it expires") { bed in
            let (first, second) = (try await bed.member("a"), try await bed.member("b"))
            let term = try #require(try await first.lead())
            #expect(try await second.lead() == nil)
            try await bed.pass(first.leaseTime + .milliseconds(100))
            let next = try #require(try await second.lead())
            #expect(next.lease.token > term.lease.token)
            await expectFenced { try await first.append([entry(1, id(0))], upTo: "1", term) }
            #expect(try await second.backlog().entries == 0)
        },
        WorkLogConformance("a member's own lease is granted again with a new token") { bed in
            let log = try await bed.member("a")
            let (first, again) = (try await log.take(1), try await log.take(1))
            #expect(again.lease.token > first.lease.token)
            await expectFenced { try await log.next(first, after: 0, limit: 1) }
            #expect(try await log.next(again, after: 0, limit: 1).isEmpty)
        },
        WorkLogConformance("a released lease is free at once") { bed in
            let (first, second) = (try await bed.member("a"), try await bed.member("b"))
            try await first.resign(try #require(try await first.lead()))
            #expect(try await second.lead() != nil)
            let claim = try await first.take(2)
            try await first.release(claim.lease)
            #expect(try await second.take(2).takeovers == 0)
            await expectFenced { try await first.refresh(claim) }
        },
        WorkLogConformance("releasing an old lease changes nothing") { bed in
            let log = try await bed.member("a")
            let (old, new) = (try await log.take(3), try await log.take(3))
            try await log.release(old.lease)
            #expect(try await log.refresh(new) == new)
        },
        WorkLogConformance("a claim takes the first free partitions, up to the limit") { bed in
            let (first, second) = (try await bed.member("a"), try await bed.member("b"))
            let claims = try await first.claim([3, 1, 0], atMost: 2)
            #expect(Set(claims.map(\.partition)) == [1, 3])
            #expect(try await second.claim([3, 1, 0, 2], atMost: 9).map(\.partition).sorted() == [0, 2])
            #expect(try await second.claim([1], atMost: 0).isEmpty)
        },
        WorkLogConformance("a renewal keeps every lease of the member") { bed in
            let (first, second) = (try await bed.member("a"), try await bed.member("b"))
            let term = try #require(try await first.lead())
            let claim = try await first.take(2)
            for _ in 0..<3 {
                try await bed.pass(first.leaseTime * 2 / 3)
                #expect(Set(try await first.renew().leases) == [term.lease, claim.lease])
            }
            #expect(try await second.lead() == nil)
            #expect(try await second.claim([2], atMost: 1).isEmpty)
        },
        WorkLogConformance("a renewal returns the working members and the free partitions") { bed in
            let (first, second) = (try await bed.member("a"), try await bed.member("b"))
            #expect(try await first.renew() == Renewal(leases: [], workers: 1, free: [0, 1, 2, 3]))
            _ = try await second.take(1)
            let renewal = try await second.renew()
            #expect(renewal.workers == 2)
            #expect(renewal.free == [0, 2, 3])
            try await bed.pass(first.leaseTime + .milliseconds(100))
            #expect(try await first.renew() == Renewal(leases: [], workers: 1, free: [0, 1, 2, 3]))
        },
        WorkLogConformance("a member that leaves loses its leases and is no longer counted") { bed in
            let (first, second) = (try await bed.member("a"), try await bed.member("b"))
            _ = try await first.renew()
            _ = try await first.take(0)
            _ = try await first.lead()
            try await first.leave()
            #expect(try await second.renew() == Renewal(leases: [], workers: 1, free: [0, 1, 2, 3]))
            #expect(try await second.lead() != nil)
        },
        WorkLogConformance("an expired lease that no other member took can be renewed") { bed in
            let log = try await bed.member("a")
            let claim = try await log.take(0)
            try await bed.pass(log.leaseTime * 2)
            #expect(try await log.renew().leases == [claim.lease])
            #expect(try await log.refresh(claim) == claim)
        },
    ]
}
