internal import Foundation
internal import LosslessJSON

/// The files of the demonstration, found beside the working directory or above the program.
struct DemoFiles {
    private let root: String

    /// - Throws: ``CommandFailure`` with 66.
    init() throws(CommandFailure) {
        let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let above = sequence(first: program) { $0.path == "/" ? nil : $0.deletingLastPathComponent() }
        let places = [FileManager.default.currentDirectoryPath] + above.map(\.path)
        guard
            let root = places.first(where: { FileManager.default.fileExists(atPath: $0 + "/assets/groceries.ndjson") })
        else {
            throw CommandFailure(
                .missingInput, "can't find assets/groceries.ndjson: run the demo in the project's folder")
        }
        self.root = root
    }

    var rules: String { root + "/rules/attach-images.yaml" }

    func groceries() throws(CommandFailure) -> [JSONText] {
        var lines: [JSONText] = []
        for (index, line) in try asset("groceries.ndjson").split(separator: UInt8(ascii: "\n")).enumerated() {
            do throws(JSONFault) { lines.append(try JSONText(Array(line))) } catch {
                throw CommandFailure(.invalidData, "\(root)/assets/groceries.ndjson:\(index + 1): \(error)")
            }
        }
        return lines
    }

    func asset(_ name: String) throws(CommandFailure) -> [UInt8] {
        let path = "\(root)/assets/\(name)"
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandFailure(.missingInput, "can't read \(path)")
        }
        return Array(data)
    }
}
