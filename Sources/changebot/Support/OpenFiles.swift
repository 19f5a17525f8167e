internal import Foundation

/// How many files and connections the process may have open.
enum OpenFiles {
    /// Raises the limit to what the system allows.
    static func raiseLimit() {
        let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(files, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(files, &limit)
    }
}
