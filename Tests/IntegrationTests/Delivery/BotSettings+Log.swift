import Bots
import Fleet
import Foundation
import TestKit

extension BotSettings {
    /// Reads the feed into a log in memory, and processes that log.
    mutating func share(_ log: MemoryEngine) {
        let clock = SystemFleetClock()
        fleet.sharing = Sharing(role: .auto, partitions: log.partitions)
        fleet.workLog = MemoryWorkLog(
            log, owner: UUID().uuidString, link: MemoryLink(clock: clock), clock: clock, poll: .milliseconds(5))
    }
}

extension MemoryEngine {
    /// A log that uses the machine's clock. A killed member loses its leases when the log is restored.
    convenience init(partitions: Int) {
        let clock = SystemFleetClock()
        self.init(partitions: partitions, quietTime: .zero, time: { clock.now })
    }
}
