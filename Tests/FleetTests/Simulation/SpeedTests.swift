import Fleet
import Testing

/// How much faster several members are, in virtual time. See ``BusyFleet``.
@Suite(.serialized) struct SpeedTests {
    private static let documents = 20_000

    @Test func membersThatHaveTheirSharesAreFaster() {
        let one = Self.seconds { $0.time(members: 1) }
        var gains: [Int: Double] = [:]
        for members in [2, 4, 8] { gains[members] = one / Self.seconds { $0.time(members: members) } }
        print("one member: \(one) s; gains: \(gains.sorted { $0.key < $1.key })")
        #expect(gains[4] ?? 0 >= 3.2)
    }

    @Test func membersThatJoinLateAreFaster() {
        let one = Self.seconds { $0.time(joining: [.zero]) }
        for pause in [0, 1, 5, 20] {
            let times = (0..<4).map { Duration.seconds($0 * pause) }
            let four = Self.seconds { $0.time(joining: times) }
            print("one member: \(one) s; four, one each \(pause) s: \(four) s, \(one / four)")
        }
    }

    private static func seconds(_ time: (BusyFleet) -> Duration) -> Double {
        let fleet = BusyFleet(documents: documents)
        let seconds = time(fleet) / .seconds(1)
        #expect(fleet.done.count == documents)
        #expect(fleet.repeats == 0)
        return seconds
    }
}
