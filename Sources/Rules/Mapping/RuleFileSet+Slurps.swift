internal import JQ
internal import LosslessJSON

/// A name in a mapping's `slurp` list.
struct SlurpName: Sendable {
    let text: String
    let position: SourcePosition
}

extension SlurpName {
    /// Reads a mapping's `slurp` list. Reports errors if it is not a list of names.
    static func read(_ node: SourceNode, _ errors: SourceErrors) -> [SlurpName] {
        guard case .list(let elements) = node.content else {
            errors.reportKind(of: node, "'slurp' must be a list of names", remedy: "write slurp: [users]")
            return []
        }
        var names: [SlurpName] = []
        for element in elements {
            guard case .string(let text) = element.content, JQBinding.isName(text) else {
                errors.report(
                    at: element.position,
                    "a name in 'slurp' has at most 64 letters, digits and _, and is not a jq keyword, now, match or "
                        + "change; rename it")
                continue
            }
            guard !names.contains(where: { $0.text == text }) else {
                errors.report(at: element.position, "'\(text)' appears twice; remove one of the two")
                continue
            }
            names.append(SlurpName(text: text, position: element.position))
        }
        return names
    }
}

extension RuleFileSet {
    /// The variables of the programs.
    ///
    /// - Throws: ``RuleFilesError`` if a name has no data or is in no file, or if jq can't represent its data.
    func bindings(_ slurps: [String: [UInt8]]) throws(RuleFilesError) -> [JQBinding] {
        var errors: [RuleFileError] = []
        var hasBadData = false
        var missing: Set<String> = []
        for file in files {
            for name in file.slurps where slurps[name.text] == nil && missing.insert(name.text).inserted {
                errors.append(
                    RuleFileError(
                        path: file.path, position: name.position,
                        message: "the mapping needs the data of $\(name.text); add --slurp \(name.text)=FILE"))
            }
        }
        let known = Set(files.flatMap(\.slurps).map(\.text))
        var bindings: [JQBinding] = []
        for (name, data) in slurps.sorted(by: { $0.key < $1.key }) {
            let report: (String) -> Void = { message in
                errors.append(RuleFileError(path: "--slurp \(name)", position: nil, message: message))
            }
            guard known.contains(name) else {
                let names = known.isEmpty ? "they have none" : "known: \(known.sorted().joined(separator: ", "))"
                report("no mapping has this name in its 'slurp' list (\(names)); correct it, or leave it out")
                continue
            }
            do throws(UnusableData) { bindings.append(try Self.binding(name, data)) } catch {
                hasBadData = true
                report(error.reason)
            }
        }
        guard errors.isEmpty else { throw RuleFilesError(kind: hasBadData ? .invalid : .usage, errors: errors) }
        return bindings
    }

    private struct UnusableData: Error {
        let reason: String
    }

    private static func binding(_ name: String, _ data: [UInt8]) throws(UnusableData) -> JQBinding {
        let list: JSONText
        do throws(JSONError) { list = try JSONText(data) } catch {
            throw UnusableData(reason: "the data is not JSON: \(error)")
        }
        guard list.root.kind == .array else { throw UnusableData(reason: "the data must be a list of documents") }
        do throws(JQError) { return try JQBinding(name: name, list) } catch {
            throw UnusableData(reason: "the data can't be used: \(error)")
        }
    }
}
