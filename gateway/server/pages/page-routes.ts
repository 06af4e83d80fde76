import { Router, type Response } from 'express';
import { version } from '../../config/package.ts';
import type { Configuration } from '../../network-files/configuration.ts';
import type { NetworkFinder } from '../../networks/find-network.ts';
import { knownChain } from '../../network-files/chains/known-chain.ts';
import type { Network } from '../../networks/network.ts';
import { documentOf, openRpcDocument, serversAt, type OpenRpcDocument } from '../../spec/openrpc-document.ts';
import { networkStatus } from '../../upstreams/upstream-status.ts';
import { readPage, sendPage } from './read-page.ts';
import type { TrustedProxies } from '../http/trusted-proxies.ts';
import { acceptsHtml, acceptsJson } from '../http/accepts.ts';

/** A status is made once in so long, however many ask for it. */
const STATUS_AGE_MS = 1_000;

export interface PageParts {
  readonly finder: NetworkFinder<Network>;
  readonly proxies: TrustedProxies;
  /** Whether the status page is here. */
  readonly status: boolean;
  /** Whether the methods' reference and their document are here. */
  readonly docs: boolean;
  readonly configuration: () => Configuration;
  /** Of the main port, where the pages are on another. */
  readonly port: () => number | undefined;
}

/**
 * What people, and programs that read of methods, find at the gateway's root and at each base URL: the status page (as
 * JSON for whoever asks for that), `docs` and `openrpc.json` below it, and the status page again in place of an error
 * where a browser opens an address of JSON-RPC.
 */
export function pageRoutes(parts: PageParts): Router {
  const router = Router();
  const { finder, proxies, port } = parts;
  const statusPage = readPage('status.html');
  const docsPage = readPage('docs.html');
  const renderedStatus = new WeakMap<object, { at: number; text: string }>();

  /** Of the network, else of all; at most a second old. */
  const statusText = (network: Network | undefined): string => {
    const now = performance.now();
    const rendered = renderedStatus.get(network ?? parts);
    if (rendered !== undefined && now - rendered.at < STATUS_AGE_MS) return rendered.text;
    const networks = (network === undefined ? finder.all : [network]).map((one) => statusOf(one, now));
    const scope = network === undefined ? 'gateway' : 'network';
    const configuration = displayedConfiguration(parts.configuration(), port() === undefined);
    const text = JSON.stringify({ version, scope, docs: parts.docs, port: port(), configuration, networks });
    renderedStatus.set(network ?? parts, { at: now, text });
    return text;
  };

  // Not `get`, which answers OPTIONS, too.
  router.use((request, response, next) => {
    if (request.method !== 'GET') {
      next();
      return;
    }
    const { path, key, leaf } = parsePagePath(request.path);
    const host = proxies.hostOf(request);
    const network = finder.atBaseUrl(path, host);
    if ((network === undefined && path !== '') || !(leaf === '' ? parts.status : parts.docs)) {
      next();
    } else if (leaf === 'openrpc.json') {
      const at = `${proxies.schemeOf(request)}://${host ?? 'localhost'}`;
      const document = network === undefined ? wholeDocument(finder.all, at) : documentFor(network, at);
      sendJson(response, JSON.stringify(document));
    } else if (leaf === 'docs') sendPage(response, docsPage, originsOf(finder.all));
    else if (acceptsHtml(request)) sendPage(response, statusPage);
    else if (!key && acceptsJson(request)) sendJson(response, statusText(network));
    else next();
  });
  return router;
}

/** Everybody is told where a mistake is; what it is, whoever may open the port for operators. */
function displayedConfiguration({ digest, loadedAt, refused: rejected }: Configuration, isPublic: boolean): object {
  if (rejected === null) return { digest, loadedAt, refused: rejected };
  const { at, places, mistakes: diagnostics } = rejected;
  return { digest, loadedAt, refused: { at, mistakes: isPublic ? places : diagnostics } };
}

function statusOf(network: Network, now: number): object {
  const { slug, name, chainId, baseUrls, methods } = network.config;
  const rendered = knownChain(chainId);
  // What a wallet wants to know before it adds a chain.
  const currency = rendered?.currency ?? { name: 'Ether', symbol: 'ETH', decimals: 18 };
  const { explorer } = rendered ?? {};
  return {
    slug,
    name,
    chainId,
    currency,
    explorer,
    baseUrls,
    methods,
    ...networkStatus(network.upstreams.all, network.heads, now),
  };
}

/** Where the pages' reference may send calls, besides its own origin. */
function originsOf(networks: readonly Network[]): string[] {
  return [...new Set(networks.flatMap(({ config }) => config.baseUrls.map((url) => new URL(url).origin)))];
}

/** A base URL's path, what of ours stands behind it, and whether it is an address of JSON-RPC. */
function parsePagePath(given: string): { path: string; leaf: '' | 'docs' | 'openrpc.json'; key: boolean } {
  const path = given.replace(/\/{2,}/g, '/').replace(/\/$/, '');
  const [, base = '', leaf = ''] = /^(.*)\/(docs|openrpc\.json)$/.exec(path) ?? [];
  if (leaf !== '') return { path: base, leaf: leaf as 'docs' | 'openrpc.json', key: false };
  const version = /^(.*?)(\/ws)?\/v3(\/[^/]*)?$/.exec(path);
  return version === null ? { path, leaf: '', key: false } : { path: version[1] ?? '', leaf: '', key: true };
}

function documentFor({ config }: Network, at: string): OpenRpcDocument {
  return documentOf({ ...config, baseUrls: baseUrlsOf(config, at) });
}

function wholeDocument(networks: readonly Network[], at: string): OpenRpcDocument {
  return { ...openRpcDocument(), servers: serversAt(networks.flatMap(({ config }) => baseUrlsOf(config, at))) };
}

/** Those of its file; else the one that always works, at the gateway's root as the caller knows it. */
function baseUrlsOf({ slug, baseUrls }: Network['config'], at: string): readonly string[] {
  return baseUrls.length > 0 ? baseUrls : [`${at}/${slug}`];
}

function sendJson(response: Response, text: string): void {
  response.setHeader('Access-Control-Allow-Origin', '*');
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Vary', 'Accept');
  response.type('json').send(text);
}
