internal import Encodings
package import JQ
internal import LosslessJSON

/// Rule files of `kind: mapping`: rules that turn the documents of a file into documents to import.
///
/// Differences from rules for changes:
/// - There is one pass, from top to bottom. Each rule sees the document as the previous rules left it.
/// - Any member may be written, including `_id` and `_rev`. A patch may replace the whole document (`path: ""`).
/// - Each output of a `put` is a document. `delete` drops the document, but not the documents already `put` for it.
///
/// Immutable: any number of tasks can share it, each with its own ``Mapper``.
package struct Mapping: Sendable {
    /// The rules of all files of the mapping.
    package let ruleSet: RuleSet
    /// SHA-256, in lowercase hexadecimal, of everything that the result depends on: the rules, the files that they
    /// attach, and the slurped data.
    package let hash: String

    init(_ ruleSet: RuleSet, slurps: [String: [UInt8]]) {
        self.ruleSet = ruleSet
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("rules", string: ruleSet.hash)
            for (name, data) in slurps.sorted(by: { $0.key < $1.key }) {
                writer.member(name, string: Digest.sha256.hex(data))
            }
        }
        hash = Digest.sha256.hex(writer.bytes)
    }

    /// Reads mappings and the files that they attach from disk, and checks that jq can read the slurped data. Reads
    /// everything or throws. Blocks while it reads and compiles.
    ///
    /// - Parameters:
    ///   - paths: Files and folders. In folders, `*.yaml`, `*.yml` and `*.json` are read, sorted by name.
    ///   - slurps: For each name in the `slurp` lists, the value of `$NAME`: a JSON array with the documents of another
    ///     file.
    /// - Throws: ``RuleFilesError`` with all errors of all files; or if a name in `slurps` is missing or unknown; or if
    ///   jq can't read the data.
    package static func load(
        paths: [String], slurps: [String: [UInt8]] = [:], jq settings: JQPool.Settings = JQPool.Settings()
    ) async throws(RuleFilesError) -> Mapping {
        let files = try RuleFileSet.load(paths: paths, kind: .mapping)
        let ruleSet = try files.ruleSet(slurps: slurps, jq: settings)
        if let error = await ruleSet.jq?.start() {
            throw RuleFilesError(
                kind: .invalid, errors: [RuleFileError(path: "--map", position: nil, message: error.description)])
        }
        return Mapping(ruleSet, slurps: slurps)
    }

    /// Makes a mapper for one task. Not to be shared.
    package func makeMapper() -> Mapper { Mapper(self) }
}
