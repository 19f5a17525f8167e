import Fleet
import Testing

/// The speed-up of several members, in virtual time. See ``BusyFleet``.
@Suite(.serialized) struct SpeedTests {
    private static let documents = 20_000

    @Test func settledMembersAreFaster() {
        let one = Self.seconds { $0.time(members: 1) }
        var gains: [Int: Double] = [:]
        for members in [2, 4, 8] { gains[members] = one / Self.seconds { $0.time(members: members) } }
        print("one member: \(one) s; gains: \(gains.sorted { $0.key < $1.key })")
        #expect(gains[4] ?? 0 >= 3.2)
    }

    /// The changes exist when the first member joins, and each member works from when it joins.
    @Test(arguments: [0, 1, 5, 20]) func lateMembersMakeTheFleetFaster(pause: Int) {
        let times = (0..<4).map { $0 * pause }
        let needed = Double(Self.documents) * (BusyFleet.timePerDocument / .seconds(1))
        let ideal = (needed + Double(times.reduce(0, +))) / Double(times.count)
        let time = Self.seconds { $0.time(joining: times.map { .seconds($0) }) }
        print("four members, another each \(pause) s: \(time) s; \(ideal) s if nothing were lost")
        #expect(ideal / time >= 3.2 / 4)
    }

    private static func seconds(_ time: (BusyFleet) -> Duration) -> Double {
        let fleet = BusyFleet(documents: documents)
        let seconds = time(fleet) / .seconds(1)
        #expect(fleet.done.count == documents)
        #expect(fleet.repeats == 0)
        return seconds
    }
}
