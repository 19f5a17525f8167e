package import DocumentFlow
internal import Encodings
package import Logging
package import Rules

/// The files of a run's `emit` actions, opened at its start. Two spellings of one path share a file.
package struct LineOutputs: Sendable {
    private let outputs: [EmitTarget: any LineOutput]

    /// - Parameter now: The time for the names of rotated files, in seconds since 1970.
    /// - Throws: `RunError`: `.cannotCreate` if a file can't be written, `.gaveUp` if another process keeps it locked,
    ///   `.badConfiguration` if two rules rotate a file differently.
    package init(
        _ targets: Set<EmitTarget>, logger: Logger, now: @escaping @Sendable () -> Int = { Timestamp.secondsNow }
    ) throws(RunError) {
        var outputs: [EmitTarget: any LineOutput] = [:]
        var files: [String: (file: LineFile, rotation: EmitRotation?)] = [:]
        for target in targets.sorted(by: { $0.path < $1.path }) {
            guard case .file(let path, let rotation) = target else {
                outputs[target] = StandardOutputLines.shared
                continue
            }
            let real = try Self.realPath(path)
            if let known = files[real] {
                guard known.rotation == rotation else { throw Self.isRotatedInTwoWays(path) }
                outputs[target] = known.file
            } else {
                let file = try LineFile(real, rotation, logger: logger, now: now)
                files[real] = (file, rotation)
                outputs[target] = file
            }
        }
        self.outputs = outputs
    }

    /// Why files are unusable, as far as that shows without opening or creating them. Each file once.
    static func problems(_ files: [EmittedFile]) -> [(file: EmittedFile, error: RunError)] {
        var rotations: [String: EmitRotation?] = [:]
        var seen: Set<EmitTarget> = []
        return files.compactMap { file in
            guard case .file(let path, let rotation) = file.target, seen.insert(file.target).inserted else {
                return nil
            }
            do throws(RunError) {
                let real = try realPath(path)
                if let other = rotations.updateValue(rotation, forKey: real) {
                    // The file itself is checked already.
                    guard other == rotation else { throw isRotatedInTwoWays(path) }
                    return nil
                }
                try LineFile.check(real, rotation)
            } catch {
                return (file, error)
            }
            return nil
        }
    }

    private static func realPath(_ path: String) throws(RunError) -> String {
        guard let real = FilePath.real(path) else {
            throw RunError(
                .cannotCreate,
                "can't create \(path), a file of 'emit': there is no folder \(FilePath.folder(of: path)); create it, or "
                    + "choose another path")
        }
        return real
    }

    private static func isRotatedInTwoWays(_ path: String) -> RunError {
        RunError(
            .badConfiguration,
            "two rules rotate \(path), a file of 'emit', differently; give them the same 'rotate'")
    }

    /// Writes lines to their files, in order. When it returns, they are on disk.
    ///
    /// - Parameter lines: Lines without their line feeds.
    /// - Throws: `RunError` with `.cannotWrite`. Lines of other files may be on disk then, and are written again later.
    ///   `CancellationError`.
    package func append(_ lines: [(target: EmitTarget, line: [UInt8])]) async throws {
        var targets: [EmitTarget] = []
        var texts: [EmitTarget: [UInt8]] = [:]
        for (target, line) in lines {
            if texts[target] == nil { targets.append(target) }
            texts[target, default: []] += line
            texts[target, default: []].append(UInt8(ascii: "\n"))
        }
        for target in targets {
            if let output = outputs[target], let text = texts[target] { try await output.append(text) }
        }
    }
}
