import { getCACertificates, setDefaultCACertificates } from 'node:tls';

/** This process trusts a certificate (PEM) until the end of the test. */
export function trust(certificate: string): Disposable {
  const known = getCACertificates('default');
  setDefaultCACertificates([...known, certificate]);
  return { [Symbol.dispose]: () => setDefaultCACertificates(known) };
}
