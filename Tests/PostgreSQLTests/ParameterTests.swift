import CPostgreSQL
import Glibc
import Testing

@testable import PostgreSQL

@Suite struct ParameterTests {
    /// Without an acknowledgement in this time, the kernel ends the connection, so that a dead connection does not
    /// block until the deadline.
    @Test(arguments: [(nil, 10_000), (.seconds(2), 2_000)] as [(Duration?, Int32)])
    func acknowledgementTimeoutIsSetInKernel(timeout: Duration?, expected: Int32) throws {
        let connection = try TestBed().connect { $0.acknowledgementTimeout = timeout }
        defer { connection.close() }
        var (value, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
        let socket = connection.library.PQsocket(connection.handle)
        #expect(getsockopt(socket, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &value, &size) == 0)
        #expect(value == expected)
    }
}
