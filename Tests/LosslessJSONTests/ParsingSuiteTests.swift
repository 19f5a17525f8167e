import Foundation
import LosslessJSON
import Testing

/// nst/JSONTestSuite, in the folder `CHANGEBOT_SUITES`.
@Suite(.enabled(if: Suites.folder != nil)) struct ParsingSuiteTests {
    private static func files(_ prefix: String) throws -> [(name: String, bytes: [UInt8])] {
        let folder = try #require(Suites.folder) + "/json-parsing"
        return try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix(prefix) }.sorted()
            .map { ($0, try Suites.read("json-parsing/" + $0)) }
    }

    @Test func validTextsAreAccepted() throws {
        let files = try Self.files("y_")
        #expect(files.count > 90)
        for file in files { #expect(scan(file.bytes).isSuccess, "\(file.name)") }
    }

    @Test func invalidTextsAreRefused() throws {
        let files = try Self.files("n_")
        #expect(files.count > 180)
        for file in files {
            #expect(!scan(file.bytes).isSuccess, "\(file.name)")
            #expect(SmallJSON(file.bytes) == nil, "\(file.name)")
        }
    }

    @Test func onlyInvalidUTF8IsRefusedOfTheRest() throws {
        let files = try Self.files("i_")
        #expect(files.count > 30)
        for file in files {
            let isUTF8 = String(validating: file.bytes, as: UTF8.self) != nil
            let hasByteOrderMark = file.bytes.starts(with: [0xEF, 0xBB, 0xBF])
            let isUTF16 = file.name.contains("16")
            #expect(scan(file.bytes).isSuccess == (isUTF8 && !hasByteOrderMark && !isUTF16), "\(file.name)")
        }
    }
}

enum Suites {
    static let folder = ProcessInfo.processInfo.environment["CHANGEBOT_SUITES"]

    static func read(_ path: String) throws -> [UInt8] {
        let folder = try #require(folder)
        let file = try #require(FileHandle(forReadingAtPath: folder + "/" + path))
        return Array(try file.readToEnd() ?? Data())
    }
}
