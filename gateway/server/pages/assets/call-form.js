'use strict';

/** Code that sends one call, by client. Parameters are JSON, which is JavaScript, too. */
const callSnippets = {
  curl: ({ url, method, params }) =>
    `curl -sS ${url} \\\n  -H 'content-type: application/json' \\\n  -d '${`{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`.replaceAll("'", "'\\''")}'`,
  viem: ({ url, method, params }) =>
    `import { createPublicClient, http } from 'viem';\n\nconst client = createPublicClient({ transport: http('${url}') });\nconst result = await client.request({ method: '${method}', params: ${params} });\nconsole.log(result);`,
  ethers: ({ url, method, params }) =>
    `import { JsonRpcProvider } from 'ethers';\n\nconst provider = new JsonRpcProvider('${url}');\nconst result = await provider.send('${method}', ${params});\nconsole.log(result);`,
};

/** Results by method: a text, explanations, and the time that it took. */
const results = {};

/** Parameters on one line; a text that is no JSON is returned unchanged. */
function oneLine(params) {
  try {
    return JSON.stringify(JSON.parse(params));
  } catch {
    return params.trim();
  }
}

/** `<base URL>/v3/<key>`, with the key that the reader has entered, if any. */
function callUrl() {
  const key = encodeURIComponent(byId('key').value.trim());
  return `${byId('base').value}/v3/${key === '' ? '<your key>' : key}`;
}

/** A form that sends a call: its parameters, a button, the response, and the same call as code. */
function callForm(method, params) {
  const id = `params-${method}`;
  const given = jsonText(params);
  const facts = () => ({ url: callUrl(), method, params: oneLine(byId(id)?.value ?? given) });
  const texts = Object.entries(callSnippets).map(([name, text]) => [name, () => text(facts())]);
  const { text, calls = [], ms } = results[method] ?? {};
  return html`<h3>Try it</h3>
    <label for=${id}>Parameters, as JSON</label>
    <textarea
      id=${id}
      rows=${Math.min(12, given.split('\n').length)}
      spellcheck=${false}
      onInput=${draw}
      defaultValue=${given}
    ></textarea>
    <button type="button" class="main" onClick=${() => void sendCall(method, byId(id).value)}>Send</button>
    <pre class="result" role="status" tabindex="0" aria-label="Response" hidden=${text === undefined}>${text}</pre>
    <div aria-label="How the call was served" role="group">${calls.map((call) => explanationView(call, ms))}</div>
    <h3>As code</h3>
    ${tabList(`tabs-${method}`, `code-${method}`, Object.fromEntries(texts))}`;
}

/**
 * Sends a call with the entered key, to the gateway only, and shows the response, or why there is none. The response to a key
 * with the capability `explain` has an explanation.
 */
async function sendCall(method, params) {
  const isMissing = byId('key').value.trim() === '';
  clearErrors(byId('page'));
  results[method] = { text: isMissing ? 'Enter your key first, at the top of this page.' : '…' };
  draw();
  if (isMissing) {
    showError(byId('key'), 'Enter your key first.');
    return;
  }
  const startedAt = performance.now();
  try {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: JSON.parse(params) });
    const headers = { 'content-type': 'application/json', 'x-gatehouse-explain': '1' };
    const response = await fetch(callUrl(), { method: 'POST', headers, body, referrerPolicy: 'no-referrer' });
    const { calls } = JSON.parse(response.headers.get('x-gatehouse-explain') ?? '{}');
    results[method] = { text: jsonText(await response.json()), calls, ms: Math.round(performance.now() - startedAt) };
  } catch (error) {
    results[method] = { text: `The request failed: ${error.message}` };
  }
  draw();
}

function jsonText(value) {
  return JSON.stringify(value, undefined, 2);
}
