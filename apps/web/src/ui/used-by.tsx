import { type ComponentType, createContext, Suspense, use } from 'react';
import { Link } from 'wouter';

type Props = {
  /** Of devices, zones or scenes. */
  ids: readonly string[];
  /** Whether each name leads to its page: not from a question that would be left. */
  isLinked?: boolean;
};

/** Shows what would break without them. It knows all features, so the app gives it. */
export const UsedByContext = createContext<ComponentType<Props>>(() => null);

/** In a question whether something is removed, and on the page of a device. */
export function UsedBy(props: Props) {
  const Shown = use(UsedByContext);
  return (
    <Suspense fallback={null}>
      <Shown {...props} />
    </Suspense>
  );
}

/** Nothing when there are none. */
export function UsedList({ title, names }: { title: string; names: readonly { name: string; href: string | null }[] }) {
  if (names.length === 0) return null;
  return (
    <div>
      <p>{title}</p>
      <ul className="list-disc pl-6">
        {names.map(({ name, href }, place) => (
          <li key={place} className="break-words">
            {href === null ? (
              name
            ) : (
              <Link href={href} className="inline-flex min-h-11 items-center text-accent underline">
                {name}
              </Link>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
