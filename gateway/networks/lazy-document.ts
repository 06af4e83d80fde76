import type { ReplaceableConfig } from '../network-files/network-config.ts';
import { documentedUrls, documentOf, OpenRpcText, serversAt } from '../spec/openrpc-document.ts';
import { jsonResponse, type LargeResponse } from '../upstreams/transport/upstream-response.ts';
import type { Network } from '../call/call.ts';

/** The OpenRPC document of a network, made and serialised at its first use. */
export function lazyDocument(
  slug: string,
  { name, methods, baseUrls }: ReplaceableConfig,
  wildcards: readonly string[],
  except: readonly string[],
): Network['document'] {
  let document: ReturnType<Network['document']> | undefined;
  const serialise = (): ReturnType<Network['document']> => {
    const text = new OpenRpcText(documentOf({ name, methods, wildcards, except, baseUrls }));
    const responseAt = (origin = 'http://localhost'): LargeResponse => {
      const { parts } = text.with(serversAt(documentedUrls({ slug, baseUrls }, origin)));
      return { kind: 'large', parts, parse: () => jsonResponse(Buffer.concat(parts)).parse() };
    };
    return { text, responseAt };
  };
  return () => (document ??= serialise());
}
