import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';

/** A token issuer with a real key set over HTTP. */
export interface Issuer {
  /** Content of auth.yaml. */
  readonly auth: { readonly issuer: string; readonly audience: string; readonly keySet: string };
  readonly keySet: { keys: JWK[] };
  /** Requests for the key set. */
  readonly fetches: () => number;
  /** Signs with the newest key. @param lifeS of the token; undefined: no `exp` @param hasKid whether the header names the key */
  sign(claims: Record<string, unknown>, lifeS?: number, hasKid?: boolean): Promise<string>;
  /** Makes a new key, and publishes it. The keys before stay in the set. */
  rotate(): Promise<void>;
  close(): Promise<void>;
}

export const issuerName = 'https://login.example.org/';

export async function startIssuer(algorithm = 'ES256'): Promise<Issuer> {
  const keySet: { keys: JWK[] } = { keys: [] };
  let current: { kid: string; privateKey: CryptoKey };
  let fetches = 0;
  const rotate = async (): Promise<void> => {
    const { publicKey, privateKey } = await generateKeyPair(algorithm);
    const kid = `key-${keySet.keys.length + 1}`;
    keySet.keys.push({ ...(await exportJWK(publicKey)), kid, alg: algorithm, use: 'sig' });
    current = { kid, privateKey };
  };
  await rotate();
  const server = createServer((_, response) => {
    fetches += 1;
    response.setHeader('content-type', 'application/json').end(JSON.stringify(keySet));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    auth: { issuer: issuerName, audience: 'gatehouse', keySet: `http://127.0.0.1:${port}/jwks.json` },
    keySet,
    fetches: () => fetches,
    async sign(claims, lifeS, hasKid = true) {
      const { kid, privateKey } = current;
      const token = new SignJWT({ iss: issuerName, aud: 'gatehouse', sub: 'user-17', ...claims });
      token.setProtectedHeader({ alg: algorithm, ...(hasKid && { kid }) });
      if (lifeS !== undefined) token.setExpirationTime(Math.floor(Date.now() / 1000) + lifeS);
      return token.sign(privateKey);
    },
    rotate,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
