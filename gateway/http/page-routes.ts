import type { IncomingMessage } from 'node:http';
import { Router, type Response } from 'express';
import { version } from '../config/package.ts';
import type { NetworkFinder } from '../network/find-network.ts';
import { knownChain } from '../network/known-chain.ts';
import type { ServedNetwork } from '../served-network.ts';
import { documentOf, openRpcDocument, serversAt, type OpenRpcDocument } from '../spec/openrpc-document.ts';
import { readPage, sendPage } from './read-page.ts';
import type { TrustedProxies } from './trusted-proxies.ts';

export interface PageParts {
  readonly networks: readonly ServedNetwork[];
  readonly finder: NetworkFinder<ServedNetwork>;
  readonly proxies: TrustedProxies;
  /** Whether the status page is here. */
  readonly status: boolean;
  /** Whether the methods' reference and their document are here. */
  readonly docs: boolean;
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
  const origins = [
    ...new Set(parts.networks.flatMap(({ config }) => config.baseUrls.map((url) => new URL(url).origin))),
  ];
  const statusPage = readPage('status.html');
  const docsPage = readPage('docs.html', { connect: origins });
  const chains = new Map(parts.networks.map((network) => [network, chainOf(network)]));

  const statusOf = (scope: 'gateway' | 'network', networks: readonly ServedNetwork[]): object => ({
    version,
    scope,
    docs: parts.docs,
    ...(parts.port() !== undefined && { port: parts.port() }),
    networks: networks.map((network) => {
      const { slug, name, chainId, baseUrls, methods } = network.config;
      const { head, headSeenS, upstreams } = network.upstreams.status(performance.now());
      return { slug, name, chainId, ...chains.get(network), baseUrls, methods, head, headSeenS, upstreams };
    }),
  });

  router.get(/.*/, (request, response, next) => {
    const { path, key, leaf } = placeOf(request.path);
    const host = parts.proxies.hostOf(request);
    const network = parts.finder.at(path, host);
    if (network === undefined && path !== '') {
      next();
    } else if (leaf === 'openrpc.json' && parts.docs) {
      const document = network === undefined ? wholeDocument(parts.networks, host) : documentFor(network, host);
      sendJson(response, document);
    } else if (leaf === 'docs' && parts.docs) sendPage(response, docsPage);
    else if (leaf !== '' || !parts.status) next();
    else if (asksForPage(request)) sendPage(response, statusPage);
    else if (!key && asksForJson(request))
      sendJson(response, network === undefined ? statusOf('gateway', parts.networks) : statusOf('network', [network]));
    else next();
  });
  return router;
}

/** Whether it is a browser that shows what it gets; what a page calls, and a program, says no such thing. */
export function asksForPage({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.accept?.includes('text/html') === true;
}

function asksForJson({ headers }: IncomingMessage): boolean {
  return headers.accept?.includes('application/json') === true;
}

/** A base URL's path, what of ours stands behind it, and whether it is an address of JSON-RPC. */
function placeOf(given: string): { path: string; leaf: '' | 'docs' | 'openrpc.json'; key: boolean } {
  const path = given.replace(/\/{2,}/g, '/').replace(/\/$/, '');
  const [, before = '', leaf = ''] = /^(.*)\/(docs|openrpc\.json)$/.exec(path) ?? [];
  if (leaf !== '') return { path: before, leaf: leaf as 'docs' | 'openrpc.json', key: false };
  const version = /^(.*?)(\/ws)?\/v3(\/[^/]*)?$/.exec(path);
  return version === null ? { path, leaf: '', key: false } : { path: version[1] ?? '', leaf: '', key: true };
}

function documentFor({ config }: ServedNetwork, host: string | undefined): OpenRpcDocument {
  return documentOf({ ...config, baseUrls: basesOf(config, host) });
}

function wholeDocument(networks: readonly ServedNetwork[], host: string | undefined): OpenRpcDocument {
  return { ...openRpcDocument(), servers: serversAt(networks.flatMap(({ config }) => basesOf(config, host))) };
}

/** Those of its file; else the one that always works. */
function basesOf({ slug, baseUrls }: ServedNetwork['config'], host = 'localhost'): readonly string[] {
  return baseUrls.length > 0 ? baseUrls : [`http://${host}/${slug}`];
}

/** What a wallet wants to know before it adds a chain. */
function chainOf({ config }: ServedNetwork): object {
  const known = knownChain(config.chainId);
  const currency = known?.currency ?? { name: 'Ether', symbol: 'ETH', decimals: 18 };
  return { currency, ...(known?.explorer !== undefined && { explorer: known.explorer }) };
}

function sendJson(response: Response, document: object): void {
  response.setHeader('Access-Control-Allow-Origin', '*');
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Vary', 'Accept');
  response.json(document);
}
