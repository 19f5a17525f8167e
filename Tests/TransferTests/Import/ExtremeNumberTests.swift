import Foundation
import Locking
import LosslessJSON
import Testing

@testable import Transfer

/// External times and counts may be any number. None may crash the program.
@Suite struct ExtremeNumberTests {
    /// 2262 is the last year whose nanoseconds since 1970 fit into 64 bits.
    @Test(arguments: [-8_000_000_000, -1, 0, 9_223_372_036, 9_223_372_037, 12_000_000_000])
    func inputMayHaveAnyModificationYear(seconds: Int) async throws {
        let path = NSTemporaryDirectory() + "changebot-test-\(UUID().uuidString)"
        try Data("{}\n".utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let time = timespec(tv_sec: seconds, tv_nsec: 999_999_999)
        #expect(utimensat(AT_FDCWD, path, [time, time], 0) == 0)
        var settings = ImportSettings()
        settings.path = path
        let reader = ImportReader(settings, isStopped: Locked(false))
        let first = try await reader.fingerprint()
        #expect(try await reader.fingerprint() == first)
        #expect(try JSONText("\(first.changed)").root.integer == first.changed)
    }

    private static let identity = ImportIdentity(
        input: .init(size: 1, changed: 2, head: "a"), target: "http://h/db", mode: .upsert, mapping: nil, schema: nil,
        selector: nil)

    @Test func impossibleCountsInProgressFileAreRefused() throws {
        let text = try JSONText(ImportProgress(Self.identity, now: 0).json)
        #expect(ImportProgress(text.bytes) != nil)
        for name in ["inserted", "changed", "items", "documents", "rejected", "reject_bytes"] {
            for number in ["9223372036854775807", "-1", "9007199254740993"] {
                let changed = try text.setting(JSONPointer(tokens: [name]), to: Array(number.utf8))
                #expect(ImportProgress(changed.bytes) == nil, "\(name) \(number)")
            }
        }
    }

    @Test(arguments: [
        (5, 10, 14, true), (5, 10, 15, false), (0, 3, 2, true), (0, 0, 0, false), (Int.max, 10, 20, true),
        (Int.max, 0, Int.max, false), (Int.max, 1, Int.max, false),
    ])
    func resetIsDetectedByNewestSequence(newest: Int, written: Int, now: Int, isReset: Bool) {
        var progress = ImportProgress(Self.identity, now: 0)
        progress.database.newest = newest
        progress.counts.inserted = written
        #expect((progress.mismatch(with: .init(instance: nil, newest: now)) != nil) == isReset)
    }

    @Test(arguments: ["9223372036854775807", "-1", "9007199254740993", "1e3", #""1""#])
    func impossibleCountsInManifestAreRefused(text: String) throws {
        #expect(try JSONText(text).root.count == nil)
        #expect(ExportCounts(try JSONText(#"{"count":\#(text)}"#).root) == nil)
    }
}
