import { Router, type Request, type Response } from 'express';
import { clock } from '../../clock/clock.ts';
import { version } from '../../config/package.ts';
import type { Configuration } from '../../network-files/network-config.ts';
import { describeGroups, groupsNote } from '../../network-files/upstream-group.ts';
import type { NetworkFinder } from '../../networks/find-network.ts';
import { publicDifference, type Difference } from '../../observability/differences.ts';
import type { HistoryStore } from '../../history/history-store.ts';
import { rangeNames, type History, type HistoryRange } from '../../metrics/history.ts';
import type { Network } from '../../call/call.ts';
import { methodsByUpstreams } from '../../routing-policy/methods-by-upstreams.ts';
import { methodFacts } from '../../spec/method-facts.ts';
import { documentedUrls, openRpcDocument, OpenRpcText, serversAt } from '../../spec/openrpc-document.ts';
import { skipReasons } from '../../call/select.ts';
import { networkStatus, type NetworkStatus, type UpstreamConditions } from '../../upstreams/upstream-status.ts';
import { networkFacts } from './network-facts.ts';
import { gatewayOverTime, networkOverTime } from './network-over-time.ts';
import { networkSummary, type NetworkSummary } from './network-summary.ts';
import { readPage, sendPage, wrongAddressPage, type ConsoleLink } from './read-page.ts';
import type { TrustedProxies } from '../http/trusted-proxies.ts';
import { acceptsHtml, acceptsJson } from '../http/layer.ts';
import { writeInParts } from '../http/write-response.ts';

/** The status is built at most once in this time. */
const STATUS_MAX_AGE_MS = 1_000;

export interface PageRouteOptions {
  readonly finder: NetworkFinder<Network>;
  readonly proxies: TrustedProxies;
  /** Whether to serve the status page. */
  readonly hasStatus: boolean;
  /** Whether to serve the method reference and openrpc.json. */
  readonly hasDocs: boolean;
  readonly configuration: () => Configuration;
  readonly conditions: Pick<UpstreamConditions, 'of'>;
  readonly history: Pick<History, 'activityOf'>;
  /** The latest differences that all workers found on a network. */
  readonly differencesOf: (slug: string) => Promise<readonly Difference[]>;
  /** Store of the history; undefined: no port has the status page. */
  readonly historyStore: Pick<HistoryStore, 'read'> | undefined;
  /** The pages that this port has, for navigation. */
  readonly links: readonly ConsoleLink[];
  /** The main port, if the pages are on the ops port. */
  readonly port: () => number | undefined;
}

/**
 * Serves pages at the gateway's root and at each base URL: the status page (or the status as JSON), `docs` and
 * `openrpc.json`. A browser that opens an RPC address gets the status page instead of an error, and at other addresses a page
 * that says so.
 */
export function pageRoutes(options: PageRouteOptions): Router {
  const router = Router();
  const { finder, proxies, historyStore, port, links, hasStatus } = options;
  const statusPage = readPage('status', {}, links);
  const networkPage = readPage('network', { hasCalls: links.some(({ path }) => path === '/calls') }, links);
  const docsPage = readPage('docs', { hasStatus }, links);
  const renderedStatus = new WeakMap<object, { at: number; text: Promise<string> }>();

  /** Status of one network or of all, at most 1 s old. */
  const statusText = (network: Network | undefined): Promise<string> => {
    const now = clock.now();
    let rendered = renderedStatus.get(network ?? options);
    if (rendered === undefined || now - rendered.at >= STATUS_MAX_AGE_MS)
      renderedStatus.set(network ?? options, (rendered = { at: now, text: renderStatus(network, now) }));
    return rendered.text;
  };

  const renderStatus = async (network: Network | undefined, now: number): Promise<string> => {
    const isPublic = port() === undefined;
    const networks =
      network === undefined
        ? finder.all.map((one) => summaryOf(one, options, now))
        : [{ ...statusOf(network, options, now), ...methodsOf(network), differences: await shownDifferences(network) }];
    const scope = network === undefined ? 'gateway' : 'network';
    const configuration = displayedConfiguration(options.configuration(), isPublic);
    return JSON.stringify({ version, scope, docs: options.hasDocs, port: port(), configuration, networks });
  };

  /** Public pages do not show what callers request and get. */
  const shownDifferences = async ({ config }: Network): Promise<readonly object[]> => {
    const differences = await options.differencesOf(config.slug);
    return port() === undefined ? differences.map(publicDifference) : differences;
  };

  // Not `router.get`, which responds to OPTIONS too.
  router.use((request, response, next) => {
    if (request.method !== 'GET') {
      next();
      return;
    }
    const { path, isRpcAddress, page } = parsePagePath(request.path);
    const host = proxies.hostOf(request);
    const network = finder.atBaseUrl(path, host);
    if (
      (network === undefined && path !== '') ||
      !(page === '' || page === 'history.json' ? hasStatus : options.hasDocs)
    ) {
      next();
    } else if (page === 'openrpc.json') {
      const origin = proxies.originOf(request);
      const text = network === undefined ? wholeDocument() : network.document().text;
      const described = network === undefined ? finder.all : [network];
      sendDocument(
        request,
        response,
        text.with(serversAt(described.flatMap(({ config }) => documentedUrls(config, origin)))),
      );
    } else if (page === 'history.json' && historyStore !== undefined) {
      // All networks are read at once: only operators can request it.
      const networks = network !== undefined ? [network] : port() === undefined ? [] : finder.all;
      void sendHistory(request, response, networks, network !== undefined, historyStore);
    } else if (page === 'docs') sendPage(response, docsPage, originsOf(finder.all));
    else if (acceptsHtml(request)) sendPage(response, network === undefined ? statusPage : networkPage);
    else if (!isRpcAddress && acceptsJson(request))
      statusText(network).then((text) => {
        sendJson(response, text);
      }, next);
    else next();
  });
  const notFoundPage = wrongAddressPage(hasStatus);
  router.use((request, response, next) => {
    if (acceptsHtml(request)) sendPage(response, notFoundPage, [], 404);
    else next();
  });
  return router;
}

/** Public pages only show the positions of diagnostics. The ops port shows their texts too. */
export function displayedConfiguration(
  { digest, loadedAt, refused: rejected }: Configuration,
  isPublic: boolean,
): object {
  if (rejected === null) return { digest, loadedAt, refused: rejected };
  const { at, places, mistakes: diagnostics } = rejected;
  return { digest, loadedAt, refused: { at, mistakes: isPublic ? places : diagnostics } };
}

type StatusSources = Pick<PageRouteOptions, 'conditions' | 'history'>;

/** The status of one network has the other facts. */
function summaryOf(network: Network, sources: StatusSources, now: number): NetworkSummary {
  const { config } = network;
  return networkSummary(config, sources.history.activityOf(config.slug), upstreamsOf(network, sources, now));
}

function statusOf(network: Network, sources: StatusSources, now: number): object {
  const { config, subscriptions } = network;
  return {
    ...networkFacts(config),
    activity: sources.history.activityOf(config.slug),
    groups: describeGroups(config.upstreams),
    groupsNote: groupsNote(config),
    ...(subscriptions.isBloomWrong && { bloomCheck: 'off' }),
    ...upstreamsOf(network, sources, now),
  };
}

function upstreamsOf(network: Network, { conditions }: StatusSources, now: number): NetworkStatus {
  return networkStatus(network, conditions.of(network, now), skipReasons(network.router, now), now);
}

/** Methods of a network, in the status of one network only: they are most of its bytes. */
function methodsOf({ config }: Network): object {
  const { methods, openMethods } = config;
  return { methods: [...methods, ...openMethods.wildcards], table: methodsByUpstreams(config, methodFacts) };
}

/** Origins to which the method reference may send calls, besides its own. */
function originsOf(networks: readonly Network[]): string[] {
  return [...new Set(networks.flatMap(({ config }) => config.baseUrls.map((url) => new URL(url).origin)))];
}

type Page = '' | 'docs' | 'openrpc.json' | 'history.json';

/** Splits a URL's path into the base URL's path and the page below it. */
function parsePagePath(urlPath: string): { path: string; page: Page; isRpcAddress: boolean } {
  const path = urlPath.replace(/\/{2,}/g, '/').replace(/\/$/, '');
  const [, base = '', page = ''] = /^(.*)\/(docs|openrpc\.json|history\.json)$/.exec(path) ?? [];
  if (page !== '') return { path: base, page: page as Page, isRpcAddress: false };
  const rpcAddress = /^(.*?)(\/ws)?\/v3(\/[^/]*)?$/.exec(path);
  return { path: rpcAddress?.[1] ?? path, page: '', isRpcAddress: rpcAddress !== null };
}

/** The history of one network with its upstreams, or the sum of all networks. */
async function sendHistory(
  { query }: Request,
  response: Response,
  networks: readonly Network[],
  isOne: boolean,
  store: Pick<HistoryStore, 'read'>,
): Promise<void> {
  const range = rangeNames.find((name) => name === (query['range'] ?? '1h'));
  if (networks.length === 0 || range === undefined) {
    const message = `range: expected ${rangeNames.join(', ')}, at the address of a network`;
    response.status(400).json({ error: { field: 'range', message } });
    return;
  }
  const read = await Promise.all(networks.map((network) => readPoints(network, range, store)));
  const nowS = clock.unixMs() / 1000;
  const [first] = read;
  const overTime =
    isOne && first !== undefined ? networkOverTime(range, first, nowS) : gatewayOverTime(range, read, nowS);
  const isPartial = read.some((each) => each.isPartial);
  sendJson(response, JSON.stringify({ ...overTime, ...(isPartial && { isPartial }) }));
}

async function readPoints({ config, router }: Network, range: HistoryRange, store: Pick<HistoryStore, 'read'>) {
  const { slug } = config;
  const [read, { points: recent }] = await Promise.all([store.read(range, slug), store.read('1h', slug)]);
  return { slug, upstreams: router.all.map(({ name }) => name), ...read, recent: range === '1h' ? [] : recent };
}

let whole: OpenRpcText | undefined;

/** The document of the whole spec, serialised once. */
function wholeDocument(): OpenRpcText {
  return (whole ??= new OpenRpcText(openRpcDocument()));
}

function sendDocument(request: Request, response: Response, { parts, etag }: ReturnType<OpenRpcText['with']>): void {
  response.setHeader('Access-Control-Allow-Origin', '*');
  response.setHeader('Cache-Control', 'no-cache');
  response.setHeader('ETag', etag);
  const known = (request.headers['if-none-match'] ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  if (known.includes(etag) || known.includes('*')) {
    response.status(304).end();
    return;
  }
  response.type('json').setHeader('Content-Length', parts[0].length + parts[1].length);
  void writeInParts(response, ...parts);
}

function sendJson(response: Response, text: string): void {
  response.setHeader('Access-Control-Allow-Origin', '*');
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Vary', 'Accept');
  response.type('json').send(text);
}
