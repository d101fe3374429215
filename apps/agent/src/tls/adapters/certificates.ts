import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { CertificateFacts, CertificateMaker } from '../tls-ports.ts';

/** Node's own cryptography reads certificates; what makes them is loaded when it is needed, about once a year. */
export const certificateMaker: CertificateMaker = {
  makeAuthority: async (commonName, notAfter) =>
    (await import('./certificate-issuer.ts')).makeAuthority(commonName, notAfter),
  renewAuthority: async (authority, notAfter) =>
    (await import('./certificate-issuer.ts')).renewAuthority(authority, notAfter),
  issue: async (authority, facts) => (await import('./certificate-issuer.ts')).issue(authority, facts),

  readPair: (pem) => {
    const certificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/.exec(pem)?.[0];
    const key = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----\n?/.exec(pem)?.[0];
    if (certificate === undefined || key === undefined) return null;
    try {
      return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key)) ? { certificate, key } : null;
    } catch {
      return null;
    }
  },

  readEnd: (certificate) => new X509Certificate(certificate).validToDate.getTime(),

  readFacts: (pair, authority) => {
    const certificate = new X509Certificate(pair.certificate);
    const issuer = new X509Certificate(authority.certificate);
    return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey) ? factsOf(certificate) : null;
  },

  readCertificates: (pem) => {
    const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
    try {
      return blocks.map((block) => new X509Certificate(block).toString()).join('') || null;
    } catch {
      return null;
    }
  },

  fingerprint: (certificate) => new X509Certificate(certificate).fingerprint256,
};

function factsOf(certificate: X509Certificate): CertificateFacts {
  const alternatives = (certificate.subjectAltName ?? '').split(', ');
  const of = (kind: string): string[] =>
    alternatives.flatMap((each) => (each.startsWith(`${kind}:`) ? [each.slice(kind.length + 1)] : []));
  return {
    names: of('DNS'),
    addresses: of('IP Address'),
    notBefore: certificate.validFromDate.getTime(),
    notAfter: certificate.validToDate.getTime(),
  };
}
