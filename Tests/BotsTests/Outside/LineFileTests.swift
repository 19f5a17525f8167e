import DocumentFlow
import Foundation
import Glibc
import Locking
import Logging
import Rules
import TestKit
import Testing

@testable import Outside

@Suite(.limitedParallelism) struct LineFileTests {
    /// 2026-11-24T10:00:00Z
    private static let morning = 1_795_514_400

    private struct TestBed {
        let folder: String
        let clock = Locked(LineFileTests.morning)

        var path: String { folder + "/orders.ndjson" }

        func file(_ rotation: EmitRotation? = nil) throws -> LineFile {
            try LineFile(path, rotation, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })) {
                [clock] in clock.withLock { $0 }
            }
        }

        func text(_ name: String = "orders.ndjson") throws -> String {
            try String(contentsOfFile: folder + "/" + name, encoding: .utf8)
        }

        var names: [String] {
            get throws { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }
        }

        func write(_ text: String) throws { try Data(text.utf8).write(to: URL(filePath: path)) }
    }

    private func withTestBed(_ body: (TestBed) async throws -> Void) async throws {
        let folder = NSTemporaryDirectory() + "changebot-lines-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(TestBed(folder: folder))
    }

    private static func lines(_ texts: String...) -> [UInt8] { Array(texts.map { $0 + "\n" }.joined().utf8) }

    @Test func newFileIsReadableByThisUserOnly() async throws {
        try await withTestBed { bed in
            try await bed.file().append(Self.lines("1", "2"))
            #expect(try bed.text() == "1\n2\n")
            let mode = try FileManager.default.attributesOfItem(atPath: bed.path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }

    @Test func linesAreAppended() async throws {
        try await withTestBed { bed in
            try bed.write("0\n")
            let file = try bed.file()
            try await file.append(Self.lines("1"))
            try await file.append(Self.lines("2"))
            #expect(try bed.text() == "0\n1\n2\n")
        }
    }

    @Test(arguments: [
        ("{\"a\":1}\n{\"b\":", "{\"a\":1}\n"), ("{\"b\":", ""), ("\n\nx", "\n\n"),
        ("a\n" + String(repeating: "x", count: 200_000), "a\n"),
    ])
    func truncatedLineIsRemoved(content: String, rest: String) async throws {
        try await withTestBed { bed in
            try bed.write(content)
            let file = try bed.file()
            #expect(try bed.text() == rest)
            try await file.append(Self.lines("2"))
            #expect(try bed.text() == rest + "2\n")
        }
    }

    /// Another process that writes to the same file was killed in the middle of a line.
    @Test func truncatedLineOfAnotherProcessIsRemoved() async throws {
        try await withTestBed { bed in
            let file = try bed.file()
            try await file.append(Self.lines("1"))
            let other = open(bed.path, O_WRONLY | O_APPEND)
            _ = "half".withCString { Glibc.write(other, $0, 4) }
            close(other)
            try await file.append(Self.lines("2"))
            #expect(try bed.text() == "1\n2\n")
        }
    }

    // MARK: - Rotation

    @Test func fileIsRotatedBeforeItGetsTooLarge() async throws {
        try await withTestBed { bed in
            let file = try bed.file(EmitRotation(size: 6))
            try await file.append(Self.lines("1", "2"))
            try await file.append(Self.lines("3"))
            #expect(try bed.names == ["orders.ndjson"])
            try await file.append(Self.lines("4"))
            #expect(try bed.names == ["orders-2026-11-24T100000Z.ndjson", "orders.ndjson"])
            #expect(try bed.text("orders-2026-11-24T100000Z.ndjson") == "1\n2\n3\n")
            #expect(try bed.text() == "4\n")
            // Longer than the size limit: one append is never split.
            try await file.append(Self.lines("5", "6", "7", "8"))
            #expect(try bed.text("orders-2026-11-24T100001Z.ndjson") == "4\n")
            #expect(try bed.text() == "5\n6\n7\n8\n")
        }
    }

    @Test func fileIsRotatedDaily() async throws {
        try await withTestBed { bed in
            let file = try bed.file(EmitRotation(every: .day))
            try await file.append(Self.lines("1"))
            bed.clock.withLock { $0 += 14 * 3600 - 1 }
            try await file.append(Self.lines("2"))
            #expect(try bed.names == ["orders.ndjson"])
            bed.clock.withLock { $0 += 1 }
            try await file.append(Self.lines("3"))
            #expect(try bed.text("orders-2026-11-25T000000Z.ndjson") == "1\n2\n")
            #expect(try bed.text() == "3\n")
            // Three days without a line.
            bed.clock.withLock { $0 += 3 * 86_400 }
            try await file.append(Self.lines("4"))
            #expect(try bed.text("orders-2026-11-26T000000Z.ndjson") == "3\n")
            #expect(try bed.text() == "4\n")
        }
    }

    /// The file's modification time is taken as the time of the last line.
    @Test func fileOfYesterdayIsRotatedByTheNextRun() async throws {
        try await withTestBed { bed in
            try bed.write("1\n")
            var times = [
                timeval(tv_sec: Self.morning - 86_400, tv_usec: 0), timeval(tv_sec: Self.morning - 86_400, tv_usec: 0),
            ]
            utimes(bed.path, &times)
            try await bed.file(EmitRotation(every: .hour)).append(Self.lines("2"))
            #expect(try bed.text("orders-2026-11-23T110000Z.ndjson") == "1\n")
            #expect(try bed.text() == "2\n")
        }
    }

    @Test func clockSetBackRotatesNothing() async throws {
        try await withTestBed { bed in
            let file = try bed.file(EmitRotation(every: .hour))
            try await file.append(Self.lines("1"))
            bed.clock.withLock { $0 -= 7200 }
            try await file.append(Self.lines("2"))
            #expect(try bed.text() == "1\n2\n")
        }
    }

    @Test func oldestRotatedFilesAreRemoved() async throws {
        try await withTestBed { bed in
            let others = [
                "orders-2026-11-24T100000Z.ndjson.gz", "orders-2026-11-24.ndjson", "orders-old.ndjson", "a.ndjson",
                "orders-2026-11-24T100000Z-2.ndjson", "borders-2026-11-24T100000Z.ndjson",
                "orders--026-11-24T100000Z.ndjson",
            ]
            for name in others { try Data().write(to: URL(filePath: bed.folder + "/" + name)) }
            try Data().write(to: URL(filePath: bed.folder + "/orders-2025-01-01T000000Z.ndjson"))
            let file = try bed.file(EmitRotation(size: 1, keep: 2))
            for number in 1...4 { try await file.append(Self.lines("\(number)")) }
            let kept = ["orders-2026-11-24T100001Z.ndjson", "orders-2026-11-24T100002Z.ndjson", "orders.ndjson"]
            #expect(try bed.names == (others + kept).sorted())
            #expect(try bed.text(kept[1]) == "3\n")
        }
    }

    // MARK: - Other programs

    @Test func renamedOrRemovedFileIsCreatedAgain() async throws {
        try await withTestBed { bed in
            let file = try bed.file()
            try await file.append(Self.lines("1"))
            #expect(rename(bed.path, bed.path + ".1") == 0)
            try await file.append(Self.lines("2"))
            #expect(try bed.text() == "2\n")
            #expect(try bed.text("orders.ndjson.1") == "1\n")
            unlink(bed.path)
            try await file.append(Self.lines("3"))
            #expect(try bed.text() == "3\n")
            truncate(bed.path, 0)
            try await file.append(Self.lines("4"))
            #expect(try bed.text() == "4\n")
        }
    }

    @Test func severalRunsShareAFile() async throws {
        try await withTestBed { bed in
            try await withThrowingTaskGroup { group in
                for run in 0..<4 {
                    let file = try bed.file(EmitRotation(size: 2000))
                    group.addTask {
                        for number in 0..<50 { try await file.append(Self.lines("\(run) \(number)", "\(run) end")) }
                    }
                }
                try await group.waitForAll()
            }
            let lines = try bed.names.flatMap { try bed.text($0).split(separator: "\n") }
            #expect(lines.count == 400)
            #expect(Set(lines).count == 204)
        }
    }

    // MARK: - Unwritable files

    @Test func unwritableFileIsRefused() async throws {
        try await withTestBed { bed in
            #expect(mkfifo(bed.path, 0o600) == 0)
            let error = #expect(throws: RunError.self) { try bed.file() }
            #expect(error?.code == .cannotCreate)
            #expect(error?.description.contains("it is a pipe or a device; name a regular file") == true)
        }
        try await withTestBed { bed in
            #expect(mkdir(bed.path, 0o700) == 0)
            #expect(throws: RunError.self) { try bed.file() }
        }
        try await withTestBed { bed in
            #expect(symlink("/nowhere/else", bed.path) == 0)
            let error = #expect(throws: RunError.self) { try bed.file() }
            #expect(error?.description.contains("it is a link to a missing file") == true)
        }
    }

    @Test func equalPathsShareAFile() async throws {
        try await withTestBed { bed in
            let (plain, other) = (
                EmitTarget.file(path: bed.path, nil), EmitTarget.file(path: bed.folder + "/./orders.ndjson", nil)
            )
            let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
            let outputs = try LineOutputs([plain, other], logger: logger)
            try await outputs.append([(plain, [0x31]), (other, [0x32]), (plain, [0x33])])
            #expect(try bed.text().split(separator: "\n").sorted() == ["1", "2", "3"])
            let rotated = EmitTarget.file(path: bed.path, EmitRotation(keep: 1))
            let error = #expect(throws: RunError.self) { try LineOutputs([plain, rotated], logger: logger) }
            #expect(error?.code == .badConfiguration)
            let lost = EmitTarget.file(path: bed.folder + "/none/orders.ndjson", nil)
            let missing = #expect(throws: RunError.self) { try LineOutputs([lost], logger: logger) }
            #expect(missing?.code == .cannotCreate)
            #expect(missing?.description.contains("there is no folder \(bed.folder)/none; create it") == true)
        }
    }
}
