import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openKeys } from '../../support/open-keys.ts';
import { address, makeAuth } from '../auth-setup.ts';
import { startIssuer } from './issuer.ts';

it('simultaneous requests with one token verify its signature once', async () => {
  const issuer = await startIssuer();
  onTestFinished(() => issuer.close());
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-tokens-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  const { authenticator } = makeAuth(openKeys({ DATA_DIR: folder }), {
    auth: {
      issuer: { ...issuer.auth, algorithms: ['ES256'], clockToleranceS: 30, claim: 'gatehouse', tokensInPath: false },
      keyTokens: { keyTokenAudience: 'gatehouse', clockToleranceS: 30 },
      plans: {},
    },
  });
  onTestFinished(() => {
    authenticator.close();
  });
  const [one, other] = [
    await issuer.sign({ jti: 'one', gatehouse: {} }, 60),
    await issuer.sign({ jti: 'other', gatehouse: {} }, 60),
  ];
  await authenticator.authenticate(one, address);
  const verify = vi.spyOn(crypto.subtle, 'verify');
  onTestFinished(() => {
    verify.mockRestore();
  });
  await Promise.all(Array.from({ length: 20 }, async () => authenticator.authenticate(other, address)));
  expect(verify).toHaveBeenCalledTimes(1);
});
