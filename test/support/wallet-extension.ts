/** A script that announces a wallet as an extension does (EIP-6963), and records its requests in `walletRequests`. */
export const walletExtension = `
  window.walletRequests = [];
  const provider = { request: async (request) => { walletRequests.push(request); if (window.walletRejects) throw new Error('no'); return null; } };
  const announce = () => window.dispatchEvent(new CustomEvent('eip6963:announceProvider', {
    detail: { info: { uuid: 'one', name: 'Fox', icon: 'data:image/svg+xml,<svg/>' }, provider },
  }));
  window.addEventListener('eip6963:requestProvider', announce);
  announce();
`;
