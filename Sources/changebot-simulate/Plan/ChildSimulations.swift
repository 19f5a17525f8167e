internal import Foundation
internal import Glibc

/// Runs simulations in child processes, some at a time, and reads their results.
struct ChildSimulations {
    let parallel: Int

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private struct Child {
        let settings: SimulationSettings
        let id: pid_t
        /// Where its result will be.
        let file: String
    }

    /// - Parameter receive: Called with each result, in the order of the settings. False: no more are run.
    func run(
        _ all: [SimulationSettings], _ receive: (SimulationSettings, SimulationResult) -> Bool
    ) throws {
        var running: [Child] = []
        var waiting = all[...]
        while !waiting.isEmpty || !running.isEmpty {
            while running.count < parallel, let next = waiting.popFirst() { running.append(try start(next)) }
            let first = running.removeFirst()
            guard receive(first.settings, try result(of: first)) else { return running.forEach(end) }
        }
    }

    private func end(_ child: Child) {
        kill(child.id, SIGKILL)
        var status: Int32 = 0
        waitpid(child.id, &status, 0)
        unlink(child.file)
    }

    private func start(_ settings: SimulationSettings) throws -> Child {
        var template = Array((FileManager.default.temporaryDirectory.path + "/changebot-simulate-XXXXXX").utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else {
            throw Failure(description: "can't write a file in the folder for temporary files")
        }
        close(descriptor)
        let file = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        let arguments =
            [CommandLine.arguments[0], "--result", file, "--steps", String(settings.steps)] + settings.options
        var pointers = arguments.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var id = pid_t()
        guard posix_spawn(&id, "/proc/self/exe", nil, nil, &pointers, environ) == 0 else {
            throw Failure(description: "can't start a simulation: \(String(cString: strerror(errno)))")
        }
        return Child(settings: settings, id: id, file: file)
    }

    private func result(of child: Child) throws -> SimulationResult {
        var status: Int32 = 0
        while waitpid(child.id, &status, 0) < 0, errno == EINTR {}
        defer { unlink(child.file) }
        guard let data = FileManager.default.contents(atPath: child.file), !data.isEmpty else {
            throw Failure(
                description: "the simulation has crashed: \(child.settings.replay(until: child.settings.steps))")
        }
        return try JSONDecoder().decode(SimulationResult.self, from: data)
    }
}
