internal import Encodings
package import JQ
internal import LosslessJSON

/// Rule files of `kind: mapping`: what they make of each document that is read from a file.
///
/// The rules decide as they do in a database, with these differences. The list is gone through once, from top to
/// bottom, each rule on the document as the ones before left it. Any member may be written, `_id` and `_rev` too, and a
/// patch may replace the whole document (`path: ""`). Each output of a `put` is a document. `delete` drops the document;
/// what was put for it stays. Immutable: any number of tasks map with it, each with its own ``Mapper``.
package struct Mapping: Sendable {
    package let ruleSet: RuleSet
    /// SHA-256, in hexadecimal, of all that decides what comes out: the rules, what they attach, and the data of the
    /// slurped files.
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

    /// Reads mappings, and what they attach, from disk, and makes sure that jq can take in what they slurp. All or
    /// nothing. Blocks while it reads and compiles.
    ///
    /// - Parameters:
    ///   - paths: Files, and folders whose `*.yaml`, `*.yml` and `*.json` are read, sorted by name.
    ///   - slurps: For each name of a file's `slurp` list, what its programs know as `$NAME`: a JSON array of the
    ///     documents of another file.
    /// - Throws: ``RuleFilesError`` with everything that is wrong in any of the files; or with names in `slurps` that
    ///   are missing, or that no file has; or with data that jq can't take in.
    package static func load(
        paths: [String], slurps: [String: [UInt8]] = [:], jq settings: JQPool.Settings = JQPool.Settings()
    ) async throws(RuleFilesError) -> Mapping {
        let files = try RuleFileSet.load(paths: paths, kind: .mapping)
        let ruleSet = try files.ruleSet(slurps: slurps, jq: settings)
        if let fault = await ruleSet.jq?.start() {
            throw RuleFilesError(
                kind: .invalid, faults: [RuleFileFault(path: "--map", position: nil, message: fault.description)])
        }
        return Mapping(ruleSet, slurps: slurps)
    }

    /// What a task maps with. Not to be shared between tasks.
    package func makeMapper() -> Mapper { Mapper(self) }
}
