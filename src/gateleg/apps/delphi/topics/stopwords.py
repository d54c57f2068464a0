"""Stop words by language, and detection of the languages of a conversation."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

#: By language code. Forms with an apostrophe are also listed without the part after it, where tokenizers may cut.
STOP_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "en": """
            a able about above absolutely actually after again against all allow allowed allows almost already also although
            always am among an and another any anybody anyone anything anyway are aren't around as at away back basically be
            became because become becomes been before began begin being believe below best better between both bring but by
            came can can't cannot certain certainly clear clearly come completely consider considered considering could
            couldn't currently definitely depends deserve deserves did didn't different difficult do does doesn't doing don't
            done down during each easily either else enough ensure entirely especially etc even ever every everybody everyone
            everything exactly extremely fact far feel feels felt few find first for frankly from full further get gets
            getting give given go goes going good got great had hadn't happen happens has hasn't have haven't having he help
            helps her here hers herself him himself his honestly how however i i'd i'll i'm i've idea if important in include
            includes including instead into is isn't issue issues it it's its itself just keep kind know lack last least less
            let let's like likely live lives long look lot lots made make makes making many matter may maybe me mean means
            might mine more most much must my myself necessary need needed needs neither never new no nobody none nor not
            nothing now number obviously of off often on once one only onto opinion or other others otherwise ought our ours
            ourselves out over own part particular particularly people per perhaps place point possible probably problem
            problems put quickly quite rather real really reason reasons right said same say says see seem seems seen sense
            set several shall she should shouldn't simply since so some somebody someone something sometimes soon sort start
            still stop such sure take takes talk tell than that that's the their theirs them themselves then there there's
            therefore these they they're thing things think this those though thought through thus to together told too
            totally toward towards tried true try trying under understand unless until up upon us use used using usually
            various very via want wants was wasn wasn't way ways we we'd we'll we're we've well were weren't what what's
            whatever when where whether which while who whole whom whose why will with within without won't worse would
            wouldn't wrong years yes yet you you'd you'll you're you've your yours yourself
        """,
        "de": """
            aber alle allem allen aller alles allgemein als also am an andere anderen anderer anderes anders auch auf aus bei
            beim bereits besonders besser beste bin bis bist brauche brauchen braucht bzw da dabei dadurch dafür damit danach
            dann daran darauf darf darum darüber das dass davon dazu dein deine dem den denen denn der deren des deshalb
            dessen deutlich die dies diese diesem diesen dieser dieses doch dort drei du durch dürfen eben eher eigene eigenen
            eigentlich ein eine einem einen einer eines einfach einige endlich er erst erste es etc etwas euch euer für ganz
            ganze gar gegen geht gehören gehört gerade gern gibt gibt's gleich gut gute habe haben halt hat hatte hatten hier
            hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im immer in indem ins ist ja jahr jahre jahren jede jedem
            jeden jeder jedes jemand jetzt kann kaum kein keine keinem keinen keiner können könnte lassen leider letztlich
            lässt machen mal man manche mehr mein meine meisten mich mindestens mir mit muss muß möglich möglichst müssen nach
            nein nicht nichts nie niemand noch notwendig nun nur nämlich nötig nötige ob oder oft ohne schaffen schnell schon
            sehen sehr sein seine seinem seinen seiner seit selbst sich sie sind so sofort sogar solange solche soll sollen
            sollte sollten sondern sonst soweit stark statt stärker tun um und uns unser unsere unserem unseren unserer unter
            usw viel viele vielen voll vollständig vom von vor war waren warum was weder weg wegen weil weiter welche welcher
            wenig wenige weniger wenn wer werde werden wichtig wie wieder will wir wird wirklich wo wollen wurde wäre würde
            würden zb ziel zu zum zur zwei zwischen über überhaupt
        """,
        "fr": """
            à afin ai aient ainsi alors après au aucun aussi autre autres aux avaient avait avant avec avez avoir avons
            beaucoup bien c ça car ce ceci cela celle celles celui ces cet cette ceux chaque ci comme comment contre d dans de
            depuis des doit doivent donc dont du elle elles en encore entre est et étaient était étant être eu eux fait faire
            faut ici il ils j je jusque l la là le les leur leurs lors lui m ma mais me même mes moi moins mon n ne ni non nos
            notre nous on ont ou où par parce pas peu peut peuvent plus plutôt pour pourquoi près qu quand que quel quelle
            quelles quelque quelques quels qui quoi s sa sans se sera serait ses si sien soi soit son sont sous souvent sur t
            ta te tes toi ton toujours tous tout toute toutes très trop tu un une vers voir vos votre vous y
        """,
        "es": """
            a al algo algunas alguno algunos ante antes aquí así aunque bien cada casi como con contra cual cuales cuando
            cuanto de debe deben debería deberían del desde donde durante e el él ella ellas ellos en entre era eran es esa
            esas ese eso esos esta está están estar estas este esto estos fue fueron gran ha había hace hacen hacer hacia han
            hasta hay la las le les lo los más mas me mejor menos mi mis mismo mucha muchas mucho muchos muy nada ni no nos
            nosotros nuestra nuestro nuestros o os otra otras otro otros para pero poco por porque puede pueden pues que qué
            quien quienes se sea sean según ser será si sí sido siempre sin sino sobre solo son soy su sus también tan tanto
            te tener tenemos tiene tienen toda todas todo todos tu tus un una unas uno unos usted vez y ya yo
        """,
        "it": """
            a abbiamo ad agli ai al alla alle allo anche ancora avere aveva c che chi ci cioè come con contro così cosa cui da
            dagli dai dal dalla dalle dallo degli dei del dell della delle dello deve devono di dopo dove dovrebbe dovrebbero
            due e è ed era erano essere fa fare fatto fra già gli ha hai hanno ho i il in io l la le lei li lo loro lui ma me
            meno mi mia mio molta molte molti molto ne negli nei nel nella nelle nello no noi non nostra nostro o ogni oltre
            or per perché però più poi possono prima può qual quale quali quando quanto quella quelle quelli quello questa
            queste questi questo qui se sempre senza si sia siamo solo sono sopra sotto sta stato su sua sue sul sulla sulle
            suo suoi tra troppo tu tua tuo tutta tutte tutti tutto un una uno vi voi
        """,
        "pt": """
            a à ao aos aquela aquele aqueles as às até cada com como contra da das de dela dele deles depois desde deve devem
            deveria dizer do dos e é ela elas ele eles em enquanto entre era eram essa essas esse esses esta está estão estar
            estas este estes eu foi foram há isso isto já lhe lhes lo mais mas me mesmo meu meus minha muita muitas muito
            muitos na nada nas nem no nos nós nossa nosso num numa o onde os ou para pela pelas pelo pelos pode podem por
            porque pouco qual quando que quem se sem sempre ser será seu seus só sobre sua suas são também te tem têm ter toda
            todas todo todos tu tudo um uma você vocês
        """,
        "nl": """
            aan al alle alleen als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een eens en er ge
            geen haar had heb hebben heeft heel hem het hier hij hoe hun ik in is ja je kan kunnen maar me meer men met mij
            mijn moet moeten na naar niet niets nog nu of om omdat onder ons onze ook op over reeds te tegen toch toen tot u
            uit uw van veel voor waar waarom want waren was wat we weer wel werd wie wij wil willen worden wordt zal ze zelf
            zich zij zijn zo zonder zou zouden
        """,
        "sv": """
            alla allt att av bara bli blir blev de dem den denna deras dess det detta dig din dina ditt du där efter ej eller
            en er ett fler för från få får gör göra ha hade han hans har hela henne hon hur här i icke in inte ja jag kan
            kunna kommer man med mellan men mer mig min mina mitt mot mycket måste ni nu när och också om oss på sedan sig sin
            sina sitt ska skall skulle som så till under upp ut utan vad var vara varför vi vid vilka vilken vill är även över
        """,
        "da": """
            af alle alt at blev blive bliver da de dem den denne der deres det dette dig din du efter eller en end er et for
            fordi fra få får gør ham han hans har havde hende her hun hvad hvis hvor hvordan i ikke ind ja jeg jo kan kun man
            mange med meget men mere mig min mod måske når og også om op os over på sig sin skal skulle som så til ud uden
            under var ved vi vil ville vor være været
        """,
        "pl": """
            a aby ale albo bardzo bez bo być był była było były będzie co czy dla do gdy gdzie go i ich ile im inne ja jak
            jako je jednak jego jej jest jeszcze jeśli już każdy kiedy kto która które którego której który którzy lub ma mają
            mi mnie może można my na nad nam nas nasz nawet nic nie nim niż o od oraz po pod poza powinien powinna powinno
            powinny przed przez przy są się sobie swoje ta tak także tam te tego tej ten też to tu tych tylko tym u w we
            wszystko więc z za ze że żeby
        """,
        "ru": """
            а без более больше будет будут бы был была были было быть в вам вас весь во вот все всё всегда всего всех вы где
            да даже для до его ее её если есть еще ещё же за здесь и из или им их к как какой когда кто ли либо лучше мне
            много может можно мой мы на над надо нам нас наш не него нее неё нет ни них но ну нужно о об однако он она они оно
            от очень перед по под после потому почти при про с сам свой себя сейчас со так также такие такой там те тем то
            того тоже той только том ты у уже хотя чего чем что чтобы эта эти этих это этого этой этом этот я
        """,
        "tr": """
            acaba ama ancak artık aslında az bana bazı belki ben beni benim bile bir biraz birçok biri biz bize bizim bu buna
            bunu bunun çok çünkü da daha de değil diye dolayı en gibi göre hem hep hepsi her hiç için ile ise işte kadar
            karşın ki kim mi mı mu mü nasıl ne neden nerede niye o olan olarak oldu olduğu olmak olmalı olsa olur ona onlar
            onu onun öyle sadece sanki siz sonra şey şu tüm ve veya ya yani yok zaten
        """,
        "ar": """
            أن إن أو أي إلى إلا التي الذي الذين اللتان اللذان ان او اي الى الا انه أنه إنه بعد بعض بل بين ثم حتى حول حيث خلال
            ذلك تلك عن عند على علي عليه عليها غير في فيه فيها قبل قد كان كانت كل كما كيف لا لأن لان لدى لكن له لها لم لن ليس
            ما ماذا متى مثل مع من منذ منه منها نحن نحو هذا هذه هل هم هنا هناك هو هي وأن وإن وقد وكان ولا ولكن وما ومن وهو وهي
            يا يجب يكون
        """,
        "he": """
            אבל או אולי אותו אותה אותם אז איך אין אך אל אלא אם אנחנו אני את אתה אתם בין בלי גם הוא היא הם הן הזה הזאת היה היו
            היתה הייתה זה זאת זו יותר יש כבר כדי כי כך כל כמה כמו לא לה להיות לו לי להם לפני מאוד מה מי מן מאד עד עוד על עם פי
            צריך צריכים רק של שלא שלהם שלו שלי שלנו שם תמיד תחת
        """,
        # Chinese, simplified and traditional, and fragments of sentences that are as frequent as words.
        "zh": """
            我 你 您 他 她 它 我們 你們 他們 我们 你们 他们 大家 自己 我覺 我觉 我覺得 我觉得 我認 我认 我認為 我认为 覺得 觉得
            認為 认为 應該 应该 應該要 应该要 都應該 都应该 不應該 不应该 該 可以 可能 能夠 能够 都能 都是 都要 都會 都会 都有
            都可以 不能 不用 不要 不會 不会 不是 不可 不該 沒有 没有 還是 还是 還有 还有 還要 只是 只有 只要 只能 就是 就像 就會
            就会 就能 也是 也會 也会 也要 也有 但是 但 而且 而是 而不是 如果 若 因為 因为 所以 因此 既然 雖然 虽然 然而 例如 比如
            像是 什麼 什么 怎麼 怎么 為什麼 为什么 這個 这个 這樣 这样 這些 这些 那個 那个 那些 那麼 一個 一个 一樣 一样 一些 一定
            一種 一种 是一 是一個 是一个 有一 的是 是否 以及 以上 或是 或者 已經 已经 現在 现在 目前 時候 时候 之後 之前 需要 希望
            必須 必须 比較 比较 非常 更加 更多 很多 許多 许多 其他 其實 其实 對於 对于 關於 关于 由於 由于 根據 根据 透過 通過
            通过 不同 問題 问题 部分 方面 有些 有人 的人
        """,
    }.items()
}
#: Function characters of Chinese: a run that begins or ends with one is a fragment of a sentence.
_JOINING = frozenset("的了是我你您他她它也就而與与和或及被把讓让這这那很更但並并嗎吗呢吧啊們们")
#: Characters that only fragments of Chinese sentences begin with.
_LEADING = frozenset("在以從从對对向跟比將将若如於于所")
#: A language counts if it has at least this share of the stop words of the most frequent language.
_SHARE = 0.4


def languages_of(words: Iterable[str]) -> tuple[str, ...]:
    """The languages of words in lower case, most frequent first, judged by stop words."""
    found: Counter[str] = Counter()
    for word, count in Counter(words).items():
        for language, stops in STOP_WORDS.items():
            if word in stops:
                found[language] += count
    if not found:
        return ()
    most = max(found.values())
    return tuple(language for language, count in sorted(found.items(), key=lambda pair: (-pair[1], pair[0])) if count >= _SHARE * most)


def is_fragment(word: str) -> bool:
    """Whether a run of Chinese characters is a fragment of a sentence rather than a word, judged by its first and last character."""
    return word[:1] in _JOINING or word[-1:] in _JOINING or word[:1] in _LEADING


def stop_words(languages: Iterable[str]) -> frozenset[str]:
    """The stop words of languages; languages without a list have none."""
    return frozenset().union(*(STOP_WORDS.get(language, frozenset()) for language in languages))
