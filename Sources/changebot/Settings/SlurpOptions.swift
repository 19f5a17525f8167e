internal import ArgumentParser
internal import Transfer

/// Files whose documents are available to the programs of a mapping as `$NAME`.
struct SlurpOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Make all documents of a file available to the jq programs of a mapping, as the list $NAME. Can be repeated.",
            valueName: "name=file"))
    var slurp: [String] = []

    /// The paths. Invalid values are left out.
    func files(_ environment: Environment) -> [String] {
        (environment.values(slurp, "slurp") ?? []).compactMap {
            $0.split(separator: "=", maxSplits: 1).dropFirst().first.map(String.init)
        }
    }

    /// The documents of each file as one JSON list, by name.
    ///
    /// - Throws: ``CommandError`` with 64 for a value without a name, 65 for an invalid file, 66 for an unreadable one.
    func load(_ environment: Environment) throws(CommandError) -> [String: [UInt8]] {
        var lists: [String: [UInt8]] = [:]
        for text in environment.values(slurp, "slurp") ?? [] {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty, lists[String(parts[0])] == nil else {
                throw CommandError(.usage, "--slurp '\(text)': write NAME=FILE, each name once")
            }
            lists[String(parts[0])] = try Self.list(String(parts[1]))
        }
        return lists
    }

    private static func list(_ file: String) throws(CommandError) -> [UInt8] {
        var list: [UInt8] = []
        var framing = DocumentFraming(isArray: true)
        var broken: SourceDocumentError?
        do throws(SourceError) {
            var source = try DocumentSource(path: file)
            while broken == nil, let item = try source.next() {
                switch item {
                case .document(let document): framing.write(document.bytes[...], to: &list)
                case .error(let error): broken = error
                }
            }
        } catch {
            throw CommandError(error, file)
        }
        if let broken { throw CommandError(.invalidData, "\(file):\(broken)", isListing: true) }
        list += framing.closing
        return list
    }
}

extension CommandError {
    /// Describes an error in an input file.
    init(_ error: SourceError, _ file: String) {
        if case .unreadable = error.reason {
            self.init(.missingInput, "\(file) \(error)")
        } else {
            self.init(.invalidData, "\(file): \(error)")
        }
    }
}
