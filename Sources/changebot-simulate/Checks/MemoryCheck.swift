internal import Delivery

/// The memory budget: each document takes room, and gives back as much.
enum MemoryCheck {
    /// - Parameter processes: Those that run.
    static func check(_ processes: [BotProcess]) throws {
        for process in processes where process.memory.bytesInUse < 0 {
            throw Violation(
                guarantee: .memory,
                detail:
                    "bot \(process.number) has given back \(-process.memory.bytesInUse) bytes more than it has taken")
        }
    }

    static func checkAtQuietMoment(_ processes: [BotProcess]) throws {
        for process in processes where process.memory.bytesInUse > 0 {
            throw Violation(
                guarantee: .memory,
                detail: "bot \(process.number) has nothing to do, and holds \(process.memory.bytesInUse) bytes")
        }
    }
}
