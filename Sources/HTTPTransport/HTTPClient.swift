internal import Locking
import Synchronization

/// Sends HTTP/1.1 requests over libcurl; connections are kept and used again.
///
/// Any task may send, as many at a time as it likes. One thread of its own does all the work, however many requests are
/// under way; it ends with ``shutdown()`` or when the last reference to the client, bodies included, is gone.
///
/// Redirects are returned like any other answer and not followed, so credentials never travel to another host than
/// the one in the request's URL. Nothing is asked for in compressed form, `.netrc` is not read, proxies are taken from
/// the environment (`http_proxy`, `https_proxy`, `no_proxy`) as curl does.
package final class HTTPClient: Sendable {
    let engine: CurlEngine
    private let configuration: HTTPClientConfiguration
    private let nextID = Atomic<TransferID>(1)

    package init(configuration: HTTPClientConfiguration = HTTPClientConfiguration()) {
        self.configuration = configuration
        let loop = CurlLoop()
        engine = CurlEngine(loop: loop, configuration: configuration)
        loop.start(engine)
    }

    deinit {
        engine.loop.stop()
    }

    /// Sends a request and returns when the head of the answer has come; the body is still to be read.
    ///
    /// Cancelling the task aborts the transfer and closes its connection within milliseconds. Whether the server has
    /// acted on the request by then is not known.
    ///
    /// - Throws: ``HTTPTransportError``; `isRetryable` says whether a repetition makes sense. A status such as 404 or 503
    ///   is an answer, not an error.
    /// - Note: Source: `libcurl-multi(3)`.
    package func send(_ request: HTTPRequest) async throws(HTTPTransportError) -> HTTPResponse {
        let id = nextID.wrappingAdd(1, ordering: .relaxed).oldValue
        let flow = Locked(BodyFlow(highWaterMark: configuration.bodies.highWaterMark))
        let outcome = await withTaskCancellationHandler {
            await engine.head(of: request, id: id, flow: flow)
        } onCancel: {
            engine.post(.cancel(id))
        }
        let head = try outcome.get()
        return HTTPResponse(
            status: head.status, headers: head.headers, body: HTTPBody(client: self, id: id, flow: flow))
    }

    /// Where tasks that mostly wait for small answers may run, to be spared two changes of thread per request:
    /// `withTaskExecutorPreference(client.executor)`. Whatever computes there keeps all transfers waiting.
    package var executor: any TaskExecutor { engine.loop }

    /// Aborts what is under way with `.cancelled`, closes all connections and waits for the thread to end.
    package func shutdown() async {
        await engine.loop.stopped()
    }
}
