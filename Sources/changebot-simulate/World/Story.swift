internal import Glibc

/// What happened, as lines for people. Two runs with one seed have the same lines.
final class Story {
    private static let recentCount = 50

    private let scheduler: Scheduler
    private let began: Int64
    private let isShown: Bool
    private(set) var recent: [String] = []
    /// FNV-1a of all lines.
    private(set) var digest: UInt64 = 0xcbf2_9ce4_8422_2325
    private(set) var count = 0

    /// - Parameter isShown: Whether each line is printed at once.
    init(_ scheduler: Scheduler, isShown: Bool) {
        (self.scheduler, self.isShown) = (scheduler, isShown)
        began = scheduler.uptime
    }

    /// - Parameter who: `user`, `gateway`, `bot 3`.
    func tell(_ who: String, _ text: String) {
        let line = "\(time)  #\(scheduler.step)  \(who): \(text)"
        count += 1
        for byte in line.utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3 }
        if recent.count == Self.recentCount { recent.removeFirst() }
        recent.append(line)
        if isShown { print(line) }
    }

    /// Seconds since the beginning, with microseconds.
    var time: String { time(at: scheduler.uptime) }

    func time(at uptime: Int64) -> String {
        let microseconds = (uptime - began) / 1000
        let fraction = String(microseconds % 1_000_000)
        return "\(microseconds / 1_000_000).\(String(repeating: "0", count: 6 - fraction.count))\(fraction) s"
    }
}
