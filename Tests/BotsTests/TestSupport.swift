import Foundation
import GatewayClient

func sequence(_ number: Int) -> SequenceID { SequenceID(String(number)) ?? .start }

/// Calls `body` with a new directory, which is deleted afterwards.
func withTemporaryDirectory<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    let path = NSTemporaryDirectory() + "changebot-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try await body(path)
}
