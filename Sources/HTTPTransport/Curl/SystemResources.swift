import CCurl
import Glibc

/// What a client takes from the system. Each may be refused; tests refuse one after the other.
struct SystemResources: Sendable {
    typealias ThreadEntry = @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?

    /// Two descriptors, to read and to write; nil if there are none.
    var pipe: @Sendable () -> (read: Int32, write: Int32)? = {
        var ends: [Int32] = [-1, -1]
        return Glibc.pipe(&ends) == 0 ? (ends[0], ends[1]) : nil
    }

    /// A thread that nobody joins. False if there is none.
    var startThread: @Sendable (ThreadEntry, UnsafeMutableRawPointer) -> Bool = { entry, context in
        var thread = pthread_t()
        guard pthread_create(&thread, nil, entry, context) == 0 else { return false }
        pthread_detach(thread)
        return true
    }

    var multiHandle: @Sendable () -> UnsafeMutableRawPointer? = { curl_multi_init() }
    var easyHandle: @Sendable () -> UnsafeMutableRawPointer? = { curl_easy_init() }
}
