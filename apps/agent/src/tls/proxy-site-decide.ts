/** The public name of the station, and the authority that vouches for it (ACME, RFC 8555). */
export type PublicSite = {
  name: string;
  directory: string;
  email: string | null;
  /** Whether the file of roots is there, by which the server of the directory is trusted. */
  hasRoots: boolean;
};

export const certificateFile = 'station.pem';
export const rootsFile = 'acme-ca.pem';

/** Where the proxy sees its folder. */
const folder = '/run/tls';

/**
 * What the proxy serves over HTTPS, as a part of its Caddyfile. Names and addresses come from the configuration, which allows no
 * character that means something there.
 * @param site null: only the certificate of the station's own authority.
 */
export function proxySite(site: PublicSite | null): string {
  const own = `# Written by the agent, together with the certificate.
:8443 {
	tls ${folder}/${certificateFile} ${folder}/${certificateFile}
	import station
}
`;
  if (site === null) return own;
  const { name, directory, email, hasRoots } = site;
  const options = [
    `dir ${directory}`,
    ...(email === null ? [] : [`email ${email}`]),
    ...(hasRoots ? [`trusted_roots ${folder}/${rootsFile}`] : []),
  ];
  // Without a setting of its own the name has no policy of its own, and gets the certificate above.
  return `${own}
https://${name}:8443 {
	tls {
		protocols tls1.2 tls1.3
		issuer acme {
${options.map((line) => `\t\t\t${line}\n`).join('')}		}
	}
	import station
}
`;
}
