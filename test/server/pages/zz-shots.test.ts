import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { startChromium } from '../../support/chromium.ts';
import { startFakeNode } from '../../support/fake-node.ts';
import { network, startGateway } from '../../support/gateway.ts';
import { digestOf, makeKey } from '../../../gateway/auth/formats/key.ts';

it('shots', async () => {
  const node = await startFakeNode({ chainId: 10, responses: { eth_getBalance: '0x2a' } });
  const gateway = await startGateway({ ten: network(10, [node.url], { name: 'OP Mainnet' }) , five: network(10,[node.url],{name:'Other'})}, { OPS_PORT: '0', ADMIN_TOKEN: 'a-token-for-the-keys-page' });
  for (let i = 0; i < 120; i++) await gateway.gateway.keys.add(digestOf(makeKey()), { name: i === 119 ? 'a very long name of an application with many words, up to 64 let' : `app-${i}`, createdAt: new Date(Date.UTC(2026, 9, 1) + i * 3600_000).toISOString(), permissions: i % 3 ? { team: 'acme' } : i === 6 ? { rate: 'x' } : {}, ...(i % 10 === 7 && { revokedAt: '2026-11-01T00:00:00.000Z' }) });
  for (let i = 0; i < 5; i++) await gateway.call('ten', 'eth_getBalance', [`0x${'0'.repeat(40)}`, 'latest']);
  const browser = await startChromium();
  const ops = `http://127.0.0.1:${gateway.gateway.opsPort ?? 0}`;
  for (const [form, options] of [['light', { colours: 'light', width: 1000 }], ['dark', { colours: 'dark', width: 1000 }], ['phone', { width: 360, height: 740 }]] as const) {
    const tab = await browser.open(`${ops}/keys`, options);
    await tab.evaluate(`token_ = document.querySelector('#token'); token_.value = 'a-token-for-the-keys-page'; login.requestSubmit()`);
    await tab.waitFor(`document.querySelector('#list table') !== null`);
    writeFileSync(`/tmp/shots/list-${form}.png`, await tab.screenshot());
    await tab.evaluate(`location.hash = 'create'`);
    await tab.waitFor(`!document.getElementById('create-view').hidden`);
    await tab.evaluate(`document.querySelector('#restrictions').open = true; document.getElementById('new-rate').value = 'x'; document.getElementById('create').requestSubmit()`);
    await tab.waitFor(`document.querySelector('[aria-invalid]') !== null`);
    writeFileSync(`/tmp/shots/create-${form}.png`, await tab.screenshot());
    await tab.evaluate(`document.getElementById('new-rate').value = ''; document.getElementById('name').value = 'wallet'; document.getElementById('create').requestSubmit()`);
    await tab.waitFor(`!document.getElementById('list-view').hidden`);
    writeFileSync(`/tmp/shots/created-${form}.png`, await tab.screenshot());
    await tab.evaluate(`document.getElementById('stored').click(); document.querySelector('#list tbody a').click()`);
    await tab.waitFor(`!document.getElementById('key-view').hidden`);
    writeFileSync(`/tmp/shots/key-${form}.png`, await tab.screenshot());
    await tab.evaluate(`document.getElementById('revoke').click()`);
    writeFileSync(`/tmp/shots/dialog-${form}.png`, await tab.screenshot());
    console.log(tab.errors);
    const docs = await browser.open(`${gateway.address}/ten/docs#eth_getBalance`, options);
    await docs.waitFor(`document.querySelector('#eth_getBalance pre[role=tabpanel]') !== null`);
    await docs.evaluate(`key.value = '${gateway.key}'; document.querySelector('#eth_getBalance button').click(); scrollTo(0,0); document.querySelector('#search').value='balance'; document.querySelector('#search').dispatchEvent(new Event('input'))`);
    await docs.waitFor(`document.querySelector('#eth_getBalance pre[role=status]').innerText.includes('"result": "0x2a"')`);
    writeFileSync(`/tmp/shots/docs-${form}.png`, await docs.screenshot());
    console.log(docs.errors);
  }
  expect(1).toBe(1);
  await browser.close(); await gateway.stop(); await node.close();
}, 120_000);
