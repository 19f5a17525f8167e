internal import FoundationEssentials
internal import Glibc

/// Opens a page in the user's browser. If that fails, the printed address remains.
///
/// The address has a secret, and other users can see the arguments of processes. So the browser opens a file that only
/// this user can read, which leads to the page.
final class PageOpener: Sendable {
    private let folder: String

    /// Nil if there is no desktop, or no place for the file.
    init?() {
        let environment = ProcessInfo.processInfo.environment
        guard ["DISPLAY", "WAYLAND_DISPLAY"].contains(where: { environment[$0]?.isEmpty == false }) else { return nil }
        folder = FileManager.default.temporaryDirectory.path + "/changebot-play-\(UUID().uuidString)"
        guard mkdir(folder, 0o700) == 0 else { return nil }
    }

    private var file: String { folder + "/open.html" }

    func open(_ url: String) {
        let html =
            "<!DOCTYPE html><meta http-equiv=\"refresh\" content=\"0;url=\(url)\">"
            + "<a href=\"\(url)\">\(url)</a>\n"
        guard (try? Data(html.utf8).write(to: URL(fileURLWithPath: file))) != nil else { return }
        start("xdg-open", file)
    }

    /// Removes the file.
    func remove() { try? FileManager.default.removeItem(atPath: folder) }

    private func start(_ program: String, _ argument: String) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for descriptor: Int32 in 0...2 {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
        }
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(program), strdup(argument), nil]
        defer { for argument in arguments { free(argument) } }
        var process: pid_t = 0
        posix_spawnp(&process, program, &actions, nil, &arguments, environ)
    }
}
