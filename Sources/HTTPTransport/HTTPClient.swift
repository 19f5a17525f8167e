internal import Locking
import Synchronization

/// Sends HTTP/1.1 requests over libcurl; connections are kept and used again.
///
/// Any task may send, as many at a time as it likes. One thread of its own does all the work, however many requests are
/// under way; it ends with ``shutdown()`` or when the last reference to the client, bodies included, is gone.
///
/// Redirects are returned like any other answer and not followed, so credentials never travel to another host than
/// the one in the request's URL. Nothing is asked for in compressed form, `.netrc` is not read; ``HTTPProxies`` tells which
/// proxies are used.
package final class HTTPClient: Sendable {
    let engine: CurlEngine
    private let configuration: HTTPClientConfiguration
    private let nextID = Atomic<TransferID>(1)

    package convenience init(configuration: HTTPClientConfiguration = HTTPClientConfiguration()) {
        self.init(configuration: configuration, resources: SystemResources())
    }

    /// If the system lacks resources, it is made too, but every request fails with `.outOfResources`.
    init(configuration: HTTPClientConfiguration, resources: SystemResources) {
        self.configuration = configuration
        let loop = CurlLoop(resources)
        engine = CurlEngine(loop: loop, configuration: configuration, resources: resources)
        loop.start(engine, resources)
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
        var flows = ExchangeFlows(body: Locked(BodyFlow(highWaterMark: configuration.bodies.highWaterMark)))
        let outcome: CurlTransfer.Head
        if let source = request.body.source {
            let upload = Locked(UploadFlow())
            flows.upload = upload
            let feed = UploadFeed(source: source, flow: upload) { [engine] in engine.post(.resume(id)) }
            outcome = await head(of: request, id: id, flows: flows, feed)
        } else {
            outcome = await head(of: request, id: id, flows: flows)
        }
        let head = try outcome.get()
        return HTTPResponse(
            status: head.status, headers: head.headers, body: HTTPBody(client: self, id: id, flow: flows.body))
    }

    private func head(of request: HTTPRequest, id: TransferID, flows: ExchangeFlows) async -> CurlTransfer.Head {
        await withTaskCancellationHandler {
            await engine.head(of: request, id: id, flows: flows)
        } onCancel: {
            engine.post(.cancel(id))
        }
    }

    /// The same while `feed` makes the body. A refusal that comes before its end, of one that is too large for example,
    /// stops it: no more is sent, and the connection is closed once the answer is read.
    private func head(
        of request: HTTPRequest, id: TransferID, flows: ExchangeFlows, _ feed: UploadFeed
    ) async -> CurlTransfer.Head {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await feed.run() }
            // Whether a body of no bytes is right must be known before it is sent: there is nothing to hold back.
            if feed.source.count == 0 {
                await group.waitForAll()
                if let failure = feed.flow.withLock(\.failure) { return .failure(failure) }
            }
            let outcome = await head(of: request, id: id, flows: flows)
            if ((try? outcome.get())?.status ?? 400) >= 400 {
                feed.flow.withLock { $0.close() }?.resume(returning: false)
                group.cancelAll()
                // libcurl 7.88 takes a transfer that waits for bytes for unfinished, though its answer is there.
                feed.wakeTransfer()
            }
            await group.waitForAll()
            return outcome
        }
    }

    /// Where tasks that mostly wait for small answers may run, to be spared two changes of thread per request:
    /// `withTaskExecutorPreference(client.executor)`. Whatever computes there keeps all transfers waiting.
    package var executor: any TaskExecutor { engine.loop }

    /// Aborts what is under way with `.cancelled`, closes all connections and waits for the thread to end.
    package func shutdown() async {
        await engine.loop.stopped()
    }
}
